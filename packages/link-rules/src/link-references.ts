import { setImmediate as immediate } from 'node:timers/promises';
import { API_READ, type Catalog, type FolderRecord, type PartnerRecord, type WorkspaceRecord } from '@waymark/catalog';
import { csvItems, domainName, fieldError, type UpdateLinkBody } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

/** Fields of a body that refer to other resources. */
type ReferenceFields = Pick<
  UpdateLinkBody,
  'domain' | 'tagIds' | 'tagNames' | 'tagId' | 'folderId' | 'programId' | 'partnerId' | 'tenantId' | 'webhookIds'
>;

/** The resources that the bodies of a request refer to, by id unless stated otherwise. A resource that does not exist is absent. */
export interface LinkReferences {
  /** The domain for links whose body has none: the primary domain of the workspace, or else the default domain. */
  readonly fallbackDomain: string | undefined;
  /** Slugs of the workspace's own domains that bodies name, in the form of `domainName`, and of its primary domain if a body names none. */
  readonly ownDomains: ReadonlySet<string>;
  /** The default domain of the installation. */
  readonly defaultDomain: string | undefined;
  readonly tagIds: ReadonlySet<string>;
  /** Ids of tags by their names as the bodies spell them. The stored names may differ in case. */
  readonly tagIdByName: ReadonlyMap<string, string>;
  readonly folders: ReadonlyMap<string, FolderRecord>;
  readonly partners: ReadonlyMap<string, PartnerRecord>;
  /** Partners by the `tenantId` of the bodies. */
  readonly partnerByTenant: ReadonlyMap<string, PartnerRecord>;
  readonly webhookIds: ReadonlySet<string>;
  /** The program's folder for partner links without a folder. Looked up only when a body refers to a program or a partner. */
  readonly partnerFolder: FolderRecord | undefined;
}

type CsvOrList = string | readonly string[] | null | undefined;

/** The items of a list in CSV or array form, without blank ones. */
function itemsOf(list: CsvOrList): string[] {
  if (typeof list === 'string') return csvItems(list);
  // Not joined into a CSV: items of an array, such as names of tags, may contain commas.
  return (list ?? []).map((item) => item.trim()).filter((item) => item !== '');
}

/**
 * The tags that a body requests: those of `tagIds` and `tagNames`, and that of the deprecated `tagId` if there is no `tagIds`, and no
 * empty or null `tagNames`, which removes all tags. Undefined = the body has none of these fields.
 */
export function requestedTags({
  tagIds,
  tagNames,
  tagId,
}: ReferenceFields): { ids: string[]; names: string[] } | undefined {
  if (tagIds === undefined && tagNames === undefined && tagId === undefined) return undefined;
  const names = itemsOf(tagNames);
  const isTagIdRead = tagIds === undefined && (tagNames === undefined || names.length > 0);
  const ids = itemsOf(isTagIdRead && tagId ? [tagId] : tagIds);
  return { ids: [...new Set(ids)], names: [...new Set(names)] };
}

/** Maximum number of different tags in a request, in all of its links together, by name and by id each. */
const TAGS_NAMED_MAX = 5_000;
/** Look-ups that are started together. Between two such groups, other requests are processed. */
const LOOKUPS_AT_ONCE = 100;

/** Calls `find` once for each distinct item that is not empty. @returns the results by item, without those that are undefined */
async function findEach<T>(
  items: readonly (string | null | undefined)[],
  find: (item: string) => Promise<T | undefined>,
): Promise<Map<string, T>> {
  const distinct = [...new Set(items)].filter((item): item is string => Boolean(item));
  const found = new Map<string, T>();
  for (let start = 0; start < distinct.length; start += LOOKUPS_AT_ONCE) {
    if (start > 0) await immediate();
    const group = distinct.slice(start, start + LOOKUPS_AT_ONCE);
    const results = await Promise.all(group.map(find));
    for (const [index, item] of group.entries()) {
      const result = results[index];
      if (result !== undefined) found.set(item, result);
    }
  }
  return found;
}

/** The default folder of the workspace's program; undefined when there is none, or it was deleted. */
async function programFolder(
  { programs, folders }: Catalog,
  { id, defaultProgramId }: WorkspaceRecord,
): Promise<FolderRecord | undefined> {
  const program = defaultProgramId === null ? undefined : await programs.get(id, defaultProgramId);
  return program?.defaultFolderId ? folders.get(id, program.defaultFolderId) : undefined;
}

function checkTagCount(field: 'tagIds' | 'tagNames', tags: ReadonlySet<string>): void {
  if (tags.size > TAGS_NAMED_MAX)
    throw fieldError('too_big', field, `must name at most ${TAGS_NAMED_MAX} different tags in a request`);
}

/** Checks the tags that a request with many links names by their ids. @throws ApiError unprocessable_entity for too many different ones */
export function checkTagIds(bodies: readonly ReferenceFields[]): void {
  checkTagCount('tagIds', new Set(bodies.flatMap((body) => requestedTags(body)?.ids ?? [])));
}

/**
 * Looks up every resource that the bodies refer to, each once and all concurrently: a hundred bodies need as many round trips as one.
 *
 * @throws ApiError unprocessable_entity when the bodies name too many different tags; 500 with `Retry-After` when the stores are away
 */
export async function readReferences(
  { catalog, defaultDomain }: LinkRuleDeps,
  workspace: WorkspaceRecord,
  bodies: readonly ReferenceFields[],
): Promise<LinkReferences> {
  const workspaceId = workspace.id;
  const tags = bodies.map((body) => requestedTags(body) ?? { ids: [], names: [] });
  const names = new Set(tags.flatMap((requested) => requested.names));
  checkTagCount('tagNames', names);
  const refersToPartners = bodies.some(({ programId, partnerId, tenantId }) => programId || partnerId || tenantId);
  const [primary, domains, tagsById, tagsByName, folders, partners, partnerByTenant, webhooks, partnerFolder] =
    await Promise.all([
      bodies.some(({ domain }) => !domain) ? catalog.domains.primary(workspaceId) : undefined,
      findEach(
        bodies.map(({ domain }) => domain && domainName(domain)),
        (slug) => catalog.domains.findBySlug(slug, API_READ),
      ),
      catalog.tags.getMany(workspaceId, [...new Set(tags.flatMap(({ ids }) => ids))]),
      findEach([...names], (name) => catalog.tags.findByName(workspaceId, name)),
      catalog.folders.getMany(workspaceId, itemsOf(bodies.flatMap(({ folderId }) => folderId ?? []))),
      catalog.partners.getMany(workspaceId, itemsOf(bodies.flatMap(({ partnerId }) => partnerId ?? []))),
      findEach(
        bodies.map(({ tenantId }) => tenantId),
        (tenantId) => catalog.links.partnerOfTenant(workspaceId, tenantId),
      ),
      catalog.webhooks.getMany(
        workspaceId,
        bodies.flatMap(({ webhookIds }) => webhookIds ?? []),
      ),
      refersToPartners ? programFolder(catalog, workspace) : undefined,
    ]);
  const own = [...domains].filter(([_slug, domain]) => domain.workspaceId === workspaceId).map(([slug]) => slug);
  return {
    fallbackDomain: primary?.slug ?? defaultDomain,
    ownDomains: new Set(primary === undefined ? own : [...own, primary.slug]),
    defaultDomain,
    tagIds: new Set(tagsById.keys()),
    tagIdByName: new Map([...tagsByName].map(([name, tag]) => [name, tag.id])),
    folders,
    partners,
    partnerByTenant,
    webhookIds: new Set(webhooks.keys()),
    partnerFolder,
  };
}
