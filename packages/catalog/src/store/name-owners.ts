import { type CatalogRecord, type Name, recordRow } from '../model/entity-type.js';
import type { Lock } from '../redis/locks.js';
import { NameTakenError, type RecordParts } from './write-context.js';

/** A left-over record in the way of a creation. */
export interface Orphan {
  remove(lock: Lock): Promise<void>;
}

/** Checks, made under the locks of the names, that names belong to nobody else. */
export function createNameOwners<R extends CatalogRecord>({ kind, reader, commit, isOrphan }: RecordParts<R>) {
  async function checkOwner(name: Name, id: string): Promise<Orphan[]> {
    const owner = await reader.ownerInTables(name);
    if (owner === undefined || owner.record.id === id) return [];
    if (!(await isOrphan?.(owner.record))) throw new NameTakenError(name);
    const gone = { record: owner.record, version: owner.version + 1 };
    return [{ remove: (lock) => commit.add([recordRow(kind, gone, true)], lock.workUntilMs) }];
  }

  /** @throws NameTakenError when one of the names belongs to another record than `id` */
  return async (names: readonly Name[], id: string): Promise<Orphan[]> =>
    (await Promise.all(names.map((name) => checkOwner(name, id)))).flat();
}
export type NameOwners = ReturnType<typeof createNameOwners>;
