import { createDataLoader } from '@waymark/cache';
import { LRUCache } from 'lru-cache';
import type { DomainRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';

const WORKSPACES_KEPT = 10_000;
const KEPT_MS = 1_000;
const READS_AT_ONCE = 4;

/**
 * Finds the domain that links get when they name none: the primary one, or the oldest of the others while that is archived: every such creation asks. Which domain that is, is kept for a second, and
 * believed only as long as the domain's record says so, which is told of every change, here before its answer.
 */
export function createPrimaryDomains({ get, table }: Pick<RecordStore<DomainRecord>, 'get' | 'table'>) {
  const idsByWorkspace = new LRUCache<string, string>({ max: WORKSPACES_KEPT, ttl: KEPT_MS });

  const look = createDataLoader<string, DomainRecord>({
    identify: (workspaceId) => workspaceId,
    group: (workspaceId) => workspaceId,
    async load([workspaceId = '']) {
      const domains = (await table.select(workspaceId, 'ORDER BY id', {})).map(({ record }) => record);
      // Links of an archived domain are out of service.
      const served = domains.filter(({ archived }) => !archived);
      // While the primary one is being removed none is: the oldest of the others is next.
      const next = served.find(({ primary }) => primary) ?? served[0];
      return new Map(next === undefined ? [] : [[workspaceId, next]]);
    },
    batchSizeMax: 1,
    concurrentReadsMax: READS_AT_ONCE,
  });

  return async (workspaceId: string): Promise<DomainRecord | undefined> => {
    const id = idsByWorkspace.get(workspaceId);
    const known = id === undefined ? undefined : await get(workspaceId, id);
    if (known?.primary && !known.archived) return known;
    const found = await look(workspaceId);
    if (found === undefined) idsByWorkspace.delete(workspaceId);
    else idsByWorkspace.set(workspaceId, found.id);
    return found;
  };
}
