import type { SqlCondition } from '../lists/list-conditions.js';
import type { CatalogRecord } from '../model/entity-type.js';
import type { RecordStore } from './record-store.js';

/** Records that are changed in one insert: so few that it ends long before their locks expire. */
const RECORDS_AT_ONCE = 500;

/** Which records of a workspace are changed or removed. */
export interface Selection<R extends CatalogRecord> {
  /** The conditions by which the records are listed. */
  readonly conditions: readonly SqlCondition[];
  /**
   * Whether a record is one of them. It is called under the lock of each listed record, because another request may have changed the record
   * since it was listed. A record that is none of them any more is left as it is.
   */
  readonly has: (record: R) => boolean;
}

/** Calls `work` with the ids of the records that meet the conditions, page by page in ascending order. */
async function forEachPage<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  { conditions }: Selection<R>,
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
 * Changes every selected record, each under its lock. May be repeated after an error if `change` returns records that are changed already as
 * they are.
 *
 * @param options as for `updateMany` of the store
 */
export function changeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  selection: Selection<R>,
  change: (record: R) => R | Promise<R>,
  options: Parameters<RecordStore<R>['updateMany']>[3] = {},
): Promise<void> {
  const changed = (record: R) => (selection.has(record) ? change(record) : record);
  return forEachPage(store, workspaceId, selection, (ids) => store.updateMany(workspaceId, ids, changed, options));
}

/** Removes every selected record, each under its lock. */
export function removeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  selection: Selection<R>,
): Promise<void> {
  return forEachPage(store, workspaceId, selection, (ids) => store.removeMany(workspaceId, ids, selection.has));
}
