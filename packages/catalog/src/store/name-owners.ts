import { type CatalogRecord, type Name, recordRow } from '../model/entity-type.js';
import type { Lock } from '../redis/locks.js';
import { NameTakenError, type RecordDeps } from './write-context.js';

/** A record that a killed creation has left behind, and that has a name of a new record. */
export interface Orphan {
  /** Removes the record. @param lock its `workUntilMs` limits when the insert may begin */
  remove(lock: Lock): Promise<void>;
}

/** The names that must be free, too, for a record to get these names. Lock them together with the names. */
export async function reservedNames<R extends CatalogRecord>(
  { reservedFor }: Pick<RecordDeps<R>, 'reservedFor'>,
  names: readonly Name[],
): Promise<Name[]> {
  return reservedFor === undefined ? [] : (await Promise.all(names.map(reservedFor))).flat();
}

/** Creates the function that checks that no other record has the given names. Call the function while holding their locks. */
export function createNameOwners<R extends CatalogRecord>(own: RecordDeps<R>) {
  const { kind, reader, commit, isOrphan } = own;
  async function checkOwner(name: Name, id: string): Promise<Orphan[]> {
    const owner = await reader.findOwnerUncached(name);
    if (owner === undefined || owner.record.id === id) return [];
    if (!(await isOrphan?.(owner.record))) throw new NameTakenError(name);
    const removed = { record: owner.record, version: owner.version + 1 };
    return [{ remove: (lock) => commit.add([recordRow(kind, removed, true)], lock.workUntilMs) }];
  }

  /**
   * @returns the orphans that have one of the names
   * @throws NameTakenError when one of the names, or a reserved one, belongs to another record than `id`
   */
  return async (names: readonly Name[], id: string): Promise<Orphan[]> => {
    const all = [...names, ...(await reservedNames(own, names))];
    return (await Promise.all(all.map((name) => checkOwner(name, id)))).flat();
  };
}
export type NameOwners = ReturnType<typeof createNameOwners>;
