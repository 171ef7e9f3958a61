import { ApiError } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { type CatalogRecord, type Name, nameKey, nameRow, numberOf, recordRow } from '../model/entity-type.js';
import { unavailable } from '../model/errors.js';
import type { Lock, LockOptions } from '../redis/locks.js';
import type { CacheWrites } from './cache-writes.js';
import { createCreationBatcher } from './creation-batcher.js';
import { type NameOwners, type Orphan, reservedNames } from './name-owners.js';
import {
  type CreationFault,
  checkPossible,
  NamesBusyError,
  NameTakenError,
  type NewRecord,
  nameLock,
  type RecordDeps,
  recordLock,
  rowOwner,
  underLock,
  type WriteDeps,
} from './write-context.js';

/** The steps of the creation of one record, for {@link createRecords}. */
export interface Creation {
  readonly lockName: string;
  readonly names: readonly Name[];
  /** See {@link NewRecord}. */
  readonly hasRandomNames: boolean;
  /** See {@link reservedNames}. */
  reserved(): Promise<readonly Name[]>;
  /**
   * Checks that the names and the id are free.
   *
   * @throws ApiError when another record has one of the names, or the id is used already
   * @returns orphans that have one of the names, to be removed first
   */
  check(): Promise<readonly Orphan[]>;
  nameRows(): EventRow[];
  insert(lock: Lock): Promise<void>;
  updateCaches(lock: Lock): Promise<void>;
  publish(): Promise<void>;
}

/**
 * Runs `check` and, at the same time, inserts the rows of random names, which saves one of three round trips. Rows of chosen names are
 * inserted after the check, because the row of a refused name would stay (it would be harmless: a name row without its record is ignored).
 */
async function checkAndName<T>(
  { commitNames }: WriteDeps,
  creations: readonly Creation[],
  lock: Lock,
  check: () => Promise<T>,
): Promise<T> {
  const rows = creations.flatMap((creation) => (creation.hasRandomNames ? creation.nameRows() : []));
  const [checked] = await Promise.all([check(), commitNames.add(rows, lock.workUntilMs)]);
  return checked;
}

/** Rows of chosen names, which {@link checkAndName} does not insert. */
const chosenNameRows = (creations: readonly Creation[]) =>
  creations.flatMap((creation) => (creation.hasRandomNames ? [] : creation.nameRows()));

const lockNames = (creations: readonly Creation[], reserved: readonly (readonly Name[])[]) =>
  creations.flatMap(({ names, lockName }, index) => [
    lockName,
    ...[...names, ...(reserved[index] ?? [])].map(nameLock),
  ]);

const allReserved = (creations: readonly Creation[]) => Promise.all(creations.map((creation) => creation.reserved()));

/**
 * Creates records, possibly of several types: all, or none if one is refused. Inserts first the rows of all names, then the records in the
 * given order. A name row without its record is ignored, so a killed creation reserves no name.
 *
 * @throws NameTakenError; ApiError 422 for a name that cannot be stored, 500 with `Retry-After` for stores that are away or locks that are
 *   held
 */
export async function createRecords(deps: WriteDeps, creations: readonly Creation[]): Promise<void> {
  for (const name of creations.flatMap(({ names }) => names)) checkPossible(name);
  const checkAll = async () => (await Promise.all(creations.map((creation) => creation.check()))).flat();
  const names = lockNames(creations, await allReserved(creations));
  const lock = await deps.locks.take(names, { whileBusy: checkAll });
  await underLock(lock, async () => {
    for (const orphan of await checkAndName(deps, creations, lock, checkAll)) await orphan.remove(lock);
    await deps.commitNames.add(chosenNameRows(creations), lock.workUntilMs);
    for (const creation of creations) await creation.insert(lock);
    await Promise.all(creations.map((creation) => creation.updateCaches(lock)));
  });
  await Promise.all(creations.map((creation) => creation.publish()));
}

function refuseBusy(): never {
  throw new NamesBusyError('a name is held');
}

/** The error of a name that cannot be stored, if the creation has one. */
function impossibleName({ names }: Creation): CreationFault {
  try {
    names.forEach(checkPossible);
    return undefined;
  } catch (err) {
    if (err instanceof ApiError) return err;
    throw err;
  }
}

/**
 * Adds an error for each creation with a name that an earlier creation of the batch has or reserves. Call it after all other checks, because a
 * creation that is refused takes no names.
 */
function refuseDuplicates(
  creations: readonly Creation[],
  reserved: readonly (readonly Name[])[],
  faults: CreationFault[],
): void {
  const taken = new Set<string>();
  for (const [index, { names }] of creations.entries()) {
    if (faults[index] !== undefined) continue;
    const duplicate = names.find((name) => taken.has(nameKey(name)));
    if (duplicate !== undefined) faults[index] = new NameTakenError(duplicate);
    else for (const name of [...names, ...(reserved[index] ?? [])]) taken.add(nameKey(name));
  }
}

/** The operations that create records of one kind. */
export function createCreator<R extends CatalogRecord>(
  deps: WriteDeps,
  own: RecordDeps<R>,
  checkOwners: NameOwners,
  { updateCaches, publishWritten }: CacheWrites<R>,
) {
  const { kind, commit } = own;

  /** The steps that create a record. Sends nothing. */
  function prepare(record: R, hasRandomNames = false): Creation {
    const stored = { record: kind.schema.parse(record), version: 1 };
    const names = kind.names(record);
    const written = [{ stored, gained: names, lost: [] }];
    return {
      names,
      hasRandomNames,
      lockName: recordLock(kind, record.id),
      reserved: () => reservedNames(own, names),
      async check() {
        const [isUsed, orphans] = await Promise.all([
          deps.namesTable.isUsed({
            table: kind.table,
            workspaceNumber: numberOf('workspace', record.workspaceId),
            number: numberOf(kind.resource, record.id),
          }),
          checkOwners(names, record.id),
        ]);
        if (isUsed) throw unavailable(`${kind.table} id ${record.id} exists already`);
        return orphans;
      },
      nameRows: () => names.map((name) => nameRow(name, rowOwner(kind, record), stored.version)),
      insert: (lock) => commit.add([recordRow(kind, stored)], lock.workUntilMs),
      updateCaches: (lock) => updateCaches(record.workspaceId, written, lock),
      publish: () => publishWritten(written),
    };
  }

  /**
   * Creates those of the records whose names are free, all in one insert.
   *
   * @param options what to do while another request holds the lock of a name; by default it waits
   * @returns for each record the error that has refused it, or undefined
   */
  async function createTogether(
    workspaceId: string,
    records: readonly NewRecord<R>[],
    options?: LockOptions,
  ): Promise<readonly CreationFault[]> {
    const creations = records.map(({ record, hasRandomNames }) => prepare(record, hasRandomNames));
    const reserved = await allReserved(creations);
    const faults = creations.map(impossibleName);
    const isFaultless = (_item: unknown, index: number) => faults[index] === undefined;
    const lock = await deps.locks.take(lockNames(creations.filter(isFaultless), reserved.filter(isFaultless)), options);
    const check = async (creation: Creation, index: number) => {
      if (faults[index] !== undefined) return;
      try {
        for (const orphan of await creation.check()) await orphan.remove(lock);
      } catch (err) {
        if (!(err instanceof NameTakenError)) throw err;
        faults[index] = err;
      }
    };
    const written = await underLock(lock, async () => {
      await checkAndName(deps, creations.filter(isFaultless), lock, () => Promise.all(creations.map(check)));
      refuseDuplicates(creations, reserved, faults);
      const made = creations.filter(isFaultless);
      const stored = records.flatMap(({ record }, index) => (faults[index] ? [] : [{ record, version: 1 }]));
      await deps.commitNames.add(chosenNameRows(made), lock.workUntilMs);
      await commit.add(
        stored.map((one) => recordRow(kind, one)),
        lock.workUntilMs,
      );
      const rows = stored.map((one) => ({ stored: one, gained: kind.names(one.record), lost: [] }));
      if (rows.length > 0) await updateCaches(workspaceId, rows, lock);
      return rows;
    });
    await publishWritten(written);
    return faults;
  }

  const create = createCreationBatcher<R>({
    createTogether: (workspaceId, records) => createTogether(workspaceId, records, { whileBusy: refuseBusy }),
    // `async`, so that a record that its schema refuses is a rejection and not an exception: the batcher handles rejections only.
    createAlone: async ({ record, hasRandomNames }) => createRecords(deps, [prepare(record, hasRandomNames)]),
  });

  return {
    prepare,

    /**
     * Creates a record, possibly in one insert with others.
     *
     * @param hasRandomNames see {@link NewRecord}
     * @throws as {@link createRecords}
     */
    async create(record: R, hasRandomNames = false): Promise<R> {
      await create({ record, hasRandomNames });
      return record;
    },

    /**
     * Creates those of the records whose names are free, all in one insert.
     *
     * @param records of one workspace
     * @returns the faults in the order of the records
     */
    createMany: (workspaceId: string, records: readonly NewRecord<R>[]): Promise<readonly CreationFault[]> =>
      createTogether(workspaceId, records),
  };
}
