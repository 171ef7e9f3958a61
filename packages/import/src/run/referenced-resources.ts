import { API_READ, type DomainRecord, foreignDomain, workspaceLimits } from '@waymark/catalog';
import { ApiError, hasPermission, type Permission, RESOURCE_NAME_CHARS_MAX, resourceName } from '@waymark/contract';
import { checkNotShared, domainSlug, type LinkAuthor, type LinkRuleDeps } from '@waymark/link-rules';
import type { SourceTag } from '../model/source-link.js';
import { madeOrFound } from './made-by-others.js';

/** Most names in each cache. */
const NAMES_MAX = 20_000;

/** Finds the domains, tags and folders that the links of an import refer to, by name, and creates missing ones. */
export interface ReferencedResources {
  /** Creates the domain if it does not exist. @throws ApiError, also when another workspace has it */
  domain(slug: string): Promise<void>;
  /** Domains that a dry run did not create. */
  readonly plannedDomains: ReadonlySet<string>;
  /** The id of the tag; undefined for one that a dry run did not create. @throws ApiError for a long name, or when the quota is used up */
  tag(tag: SourceTag): Promise<string | undefined>;
  /** The id of the folder; otherwise like `tag`. */
  folder(name: string): Promise<string | undefined>;
}

/** A name that was refused is looked up again after this time: plan, quotas and the rights of the key may have changed. */
const REFUSED_MS = 60_000;

/** Caches the results of `load` by name, errors for {@link REFUSED_MS}. The cache is cleared when it is full. */
function eachOnce<T>(load: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const found = new Map<string, { readonly loading: Promise<T>; untilMs: number }>();
  return (name) => {
    const known = found.get(name);
    if (known !== undefined && performance.now() < known.untilMs) return known.loading;
    if (found.size >= NAMES_MAX) found.clear();
    const entry = { loading: load(name), untilMs: Number.POSITIVE_INFINITY };
    entry.loading.catch(() => {
      entry.untilMs = performance.now() + REFUSED_MS;
    });
    found.set(name, entry);
    return entry.loading;
  };
}

function checkName(kind: string, name: string): void {
  if (resourceName.safeParse(name).success) return;
  throw new ApiError(
    'unprocessable_entity',
    `The name of a ${kind} has at most ${RESOURCE_NAME_CHARS_MAX} characters, and no control characters.`,
  );
}

/**
 * @param author whose API key must have the permission to create what is missing; read at each use
 * @param isDry creates nothing
 */
export function createReferencedResources(
  { catalog, defaultDomain }: LinkRuleDeps,
  author: LinkAuthor,
  isDry: boolean,
): ReferencedResources {
  /** The quotas as they are now: an import may run for days. */
  const quotas = () => workspaceLimits(author.workspace).quotas;
  const plannedDomains = new Set<string>();
  const colors = new Map<string, SourceTag['color']>();

  function checkMayMake(kind: string, name: string, permission: Permission): void {
    const { apiKey } = author;
    if (hasPermission(apiKey.role, apiKey.scopes, permission)) return;
    const message = `The ${kind} "${name}" does not exist, and the API key lacks the permission "${permission}" to make it.`;
    throw new ApiError('forbidden', message);
  }

  function checkIsOwn({ slug, workspaceId }: DomainRecord): void {
    if (workspaceId !== author.workspace.id) throw foreignDomain(slug);
  }

  const madeDomain = eachOnce(async (slug) => {
    if (slug === defaultDomain) return;
    const found = await catalog.domains.findBySlug(slug, API_READ);
    if (found !== undefined) return checkIsOwn(found);
    const checked = domainSlug(slug);
    checkNotShared(checked, defaultDomain);
    checkMayMake('domain', checked, 'domains.write');
    await catalog.domains.checkHost(author.workspace.id, checked);
    if (isDry) {
      if (plannedDomains.size >= NAMES_MAX)
        throw new ApiError('forbidden', `A dry run plans at most ${NAMES_MAX} domains.`);
      plannedDomains.add(checked);
      return;
    }
    const made = await madeOrFound(
      () => catalog.domains.create(author.workspace.id, { slug: checked }, quotas().domains),
      () => catalog.domains.findBySlug(slug, API_READ),
    );
    checkIsOwn(made);
  });

  const tag = eachOnce(async (name) => {
    const find = () => catalog.tags.findByName(author.workspace.id, name);
    const found = await find();
    if (found !== undefined) return found.id;
    checkMayMake('tag', name, 'tags.write');
    if (isDry) return undefined;
    const fields = { name, color: colors.get(name) ?? 'blue' } as const;
    return (await madeOrFound(() => catalog.tags.create(author.workspace.id, fields, quotas().tags), find)).id;
  });

  const folder = eachOnce(async (name) => {
    const find = () => catalog.folders.findByName(author.workspace.id, name);
    const found = await find();
    if (found !== undefined) return found.id;
    checkMayMake('folder', name, 'folders.write');
    if (isDry) return undefined;
    const fields = { name, description: null, accessLevel: 'write' } as const;
    return (await madeOrFound(() => catalog.folders.create(author.workspace.id, fields, quotas().folders), find)).id;
  });

  return {
    async domain(slug) {
      checkName('domain', slug);
      return madeDomain(slug);
    },
    plannedDomains,
    tag({ name, color }) {
      checkName('tag', name);
      if (color !== undefined && colors.size < NAMES_MAX) colors.set(name, color);
      return tag(name);
    },
    folder(name) {
      checkName('folder', name);
      return folder(name);
    },
  };
}
