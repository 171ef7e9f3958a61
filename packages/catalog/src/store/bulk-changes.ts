import type { SqlCondition } from '../lists/list-conditions.js';
import type { CatalogRecord } from '../model/entity-type.js';
import type { RecordStore } from './record-store.js';

/** Records that are changed in one insert: so few that it ends long before their locks expire. */
const RECORDS_AT_ONCE = 500;

/** Calls `work` with the ids of the records that meet the conditions, page by page in ascending order. */
async function forEachPage<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly SqlCondition[],
  work: (ids: readonly string[]) => Promise<unknown>,
): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const ids = await store.lists.idsAfter(workspaceId, conditions, last, RECORDS_AT_ONCE);
    last = ids.at(-1);
    if (last === undefined) return;
    await work(ids);
  }
}

/**
 * Changes every record that meets the conditions, each under its lock. May be repeated after an error if `change` returns records that are
 * changed already as they are.
 *
 * @param options as for `updateMany` of the store
 */
export function changeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly SqlCondition[],
  change: (record: R) => R | Promise<R>,
  options: Parameters<RecordStore<R>['updateMany']>[3] = {},
): Promise<void> {
  return forEachPage(store, workspaceId, conditions, (ids) => store.updateMany(workspaceId, ids, change, options));
}

/** Removes every record that meets the conditions, each under its lock. */
export function removeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly SqlCondition[],
): Promise<void> {
  return forEachPage(store, workspaceId, conditions, (ids) => store.removeMany(workspaceId, ids));
}
