import { createDataLoader, createTrackedCache } from '@waymark/cache';
import type { DomainRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';

const WORKSPACES_MAX = 10_000;
const TTL_MS = 1_000;
const READS_AT_ONCE = 4;

/**
 * Links of an archived domain do not redirect. While the primary domain is being removed there is none, and the oldest other one is used. The
 * others are not answered, because domains may have files of half a megabyte each.
 */
const PRIMARY_OR_OLDEST = `AND archived = 0 ORDER BY JSONExtractBool(data, 'primary') DESC, id LIMIT 1`;

/**
 * Creates the function that finds the domain for links of a workspace whose request names none: the primary domain or, if it is archived,
 * the oldest domain that is not. The id of a primary domain is cached for a second, and its record is checked at each use.
 */
export function createPrimaryDomains(
  { get, table }: Pick<RecordStore<DomainRecord>, 'get' | 'table'>,
  now: () => number,
) {
  const idsByWorkspace = createTrackedCache<string>({
    bound: { entriesMax: WORKSPACES_MAX },
    ttlMs: TTL_MS,
    now,
  });

  const findPrimary = createDataLoader<string, DomainRecord>({
    identify: (workspaceId) => workspaceId,
    group: (workspaceId) => workspaceId,
    async load([workspaceId = '']) {
      const [next] = await table.select(workspaceId, PRIMARY_OR_OLDEST, {});
      return new Map(next === undefined ? [] : [[workspaceId, next.record]]);
    },
    batchSizeMax: 1,
    concurrentReadsMax: READS_AT_ONCE,
  });

  return async (workspaceId: string): Promise<DomainRecord | undefined> => {
    const id = idsByWorkspace.get(workspaceId);
    const cached = id === undefined ? undefined : await get(workspaceId, id);
    if (cached?.primary && !cached.archived) return cached;
    const found = await findPrimary(workspaceId);
    if (found === undefined) idsByWorkspace.evict(workspaceId);
    else idsByWorkspace.set(workspaceId, found.id);
    return found;
  };
}
