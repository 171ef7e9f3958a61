import { API_READ, type Catalog, type FolderRecord, type PartnerRecord, type WorkspaceRecord } from '@waymark/catalog';
import { csvItems, type UpdateLinkBody } from '@waymark/contract';
import { domainName } from '../../domains/domain-name.js';
import type { LinkParts } from '../link-parts.js';

/** Fields of a body that name something else. */
type Naming = Pick<
  UpdateLinkBody,
  'domain' | 'tagIds' | 'tagNames' | 'tagId' | 'folderId' | 'programId' | 'partnerId' | 'tenantId' | 'webhookIds'
>;

/** All that bodies name, looked up at once: what was not found is absent. */
export interface LinkReferences {
  /** Where links are made that name no domain. */
  readonly usualDomain: string | undefined;
  /** Domains of the workspace among those named. */
  readonly ownDomains: ReadonlySet<string>;
  readonly defaultDomain: string | undefined;
  readonly tagIds: ReadonlySet<string>;
  readonly tagIdByName: ReadonlyMap<string, string>;
  readonly folders: ReadonlyMap<string, FolderRecord>;
  readonly partners: ReadonlyMap<string, PartnerRecord>;
  readonly partnerByTenant: ReadonlyMap<string, PartnerRecord>;
  readonly webhookIds: ReadonlySet<string>;
  /** Where the program puts links of partners that name no folder. Looked up when a body names a program or a partner. */
  readonly partnerFolder: FolderRecord | undefined;
}

type Words = string | readonly string[] | null | undefined;

/** Items of a list that is given as csv or as an array; blank ones are none. */
function itemsOf(words: Words): string[] {
  if (typeof words === 'string') return csvItems(words);
  // Names of tags may contain commas.
  return (words ?? []).map((item) => item.trim()).filter((item) => item !== '');
}

/**
 * The tags that a body names: those of `tagIds` and those of `tagNames`; the deprecated `tagId` counts in the absence of
 * `tagIds`. Undefined = it says nothing of tags.
 */
export function wantedTags({ tagIds, tagNames, tagId }: Naming): { ids: string[]; names: string[] } | undefined {
  if (tagIds === undefined && tagNames === undefined && tagId === undefined) return undefined;
  const ids = itemsOf(tagIds ?? (tagId ? [tagId] : []));
  return { ids: [...new Set(ids)], names: [...new Set(itemsOf(tagNames))] };
}

/** What `find` finds of each different item. */
async function findEach<T>(
  items: readonly (string | null | undefined)[],
  find: (item: string) => Promise<T | undefined>,
): Promise<Map<string, T>> {
  const distinct = [...new Set(items)].filter((item): item is string => Boolean(item));
  const found = await Promise.all(distinct.map(async (item) => [item, await find(item)] as const));
  return new Map(found.filter((pair): pair is [string, Awaited<T>] => pair[1] !== undefined));
}

/** The folder of the workspace's program; none when it says none, or one that was removed since. */
async function programFolder(
  { programs, folders }: Catalog,
  { id, defaultProgramId }: WorkspaceRecord,
): Promise<FolderRecord | undefined> {
  const program = defaultProgramId === null ? undefined : await programs.get(id, defaultProgramId);
  return program?.defaultFolderId ? folders.get(id, program.defaultFolderId) : undefined;
}

/** Looks up everything that the bodies name, each thing once: as many round trips for a hundred bodies as for one. */
export async function readReferences(
  { catalog, defaultDomain }: LinkParts,
  workspace: WorkspaceRecord,
  bodies: readonly Naming[],
): Promise<LinkReferences> {
  const workspaceId = workspace.id;
  const tags = bodies.map((body) => wantedTags(body) ?? { ids: [], names: [] });
  const isPartners = bodies.some(({ programId, partnerId, tenantId }) => programId || partnerId || tenantId);
  const [primary, domains, tagsById, tagsByName, folders, partners, partnerByTenant, webhooks, partnerFolder] =
    await Promise.all([
      bodies.some(({ domain }) => !domain) ? catalog.domains.primary(workspaceId) : undefined,
      findEach(
        bodies.map(({ domain }) => domain && domainName(domain)),
        (slug) => catalog.domains.findBySlug(slug, API_READ),
      ),
      catalog.tags.getMany(
        workspaceId,
        tags.flatMap(({ ids }) => ids),
      ),
      findEach(
        tags.flatMap(({ names }) => names),
        (name) => catalog.tags.findByName(workspaceId, name),
      ),
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
      isPartners ? programFolder(catalog, workspace) : undefined,
    ]);
  const own = [...domains].filter(([_slug, domain]) => domain.workspaceId === workspaceId).map(([slug]) => slug);
  return {
    usualDomain: primary?.slug ?? defaultDomain,
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
