import type { CatalogRecord } from '../model/entity-type.js';
import type { Condition } from './list-conditions.js';
import type { RecordStore } from './record-store.js';

/** Records changed in one insert: few enough to finish well within the lifetime of their locks. */
const RECORDS_AT_ONCE = 500;

async function forEachPage<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly Condition[],
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
 * Changes every record that meets the conditions, each under its lock. Pages go by id; a repeated call must leave alone what is changed
 * already.
 */
export function changeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly Condition[],
  change: (record: R) => R | Promise<R>,
): Promise<void> {
  return forEachPage(store, workspaceId, conditions, (ids) => store.updateMany(workspaceId, ids, change));
}

/** As {@link changeAll}, but removes them. */
export function removeAll<R extends CatalogRecord>(
  store: RecordStore<R>,
  workspaceId: string,
  conditions: readonly Condition[],
): Promise<void> {
  return forEachPage(store, workspaceId, conditions, (ids) => store.removeMany(workspaceId, ids));
}
