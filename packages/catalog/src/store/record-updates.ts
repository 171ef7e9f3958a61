import { parseResourceId } from '@waymark/contract';
import { type CatalogRecord, type Name, nameKey, nameRow, recordRow, type Stored } from '../model/entity-type.js';
import type { Lock } from '../redis/locks.js';
import type { CacheWrites, Written } from './cache-writes.js';
import { type NameOwners, reservedNames } from './name-owners.js';
import {
  checkPossible,
  NameTakenError,
  nameLock,
  nextVersion,
  type RecordDeps,
  recordLock,
  rowOwner,
  underLock,
  type WriteDeps,
} from './write-context.js';

/** Longer than any process uses an older copy of a record whose change was not published. */
const UNPUBLISHED_MS_MAX = 120_000;

/** @throws ApiError when a name cannot be stored, or two of the records would gain the same name */
function checkDistinct(names: readonly Name[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    checkPossible(name);
    if (seen.has(nameKey(name))) throw new NameTakenError(name);
    seen.add(nameKey(name));
  }
}

/**
 * The operations that change and remove records of one type, under locks on their ids. One insert can change many records of a workspace.
 */
export function createChanger<R extends CatalogRecord>(
  deps: WriteDeps,
  own: RecordDeps<R>,
  checkOwners: NameOwners,
  { updateCaches, evictNames, publishWritten, publishRemoved }: CacheWrites<R>,
) {
  const { kind, table, commit } = own;

  /** Locks the records, reads them from their table and runs `work` with those that exist, in the order of `ids`, and the ids of the others. */
  async function underRecordLocks<T>(
    workspaceId: string,
    ids: readonly string[],
    work: (found: readonly Stored<R>[], lock: Lock, absent: readonly string[]) => Promise<T>,
  ): Promise<T> {
    const known = [...new Set(ids)].filter((id) => parseResourceId(kind.resource, id) !== undefined);
    const lock = await deps.locks.take(known.map((id) => recordLock(kind, id)));
    return underLock(lock, async () => {
      const found = await Promise.all(known.map((id) => table.get(workspaceId, id)));
      return work(
        found.filter((stored) => stored !== undefined),
        lock,
        known.filter((_id, index) => found[index] === undefined),
      );
    });
  }

  /** Sets write markers in Redis before records are written, so that reads go to ClickHouse until Redis has the new version. */
  function setWriteMarkers(workspaceId: string, written: readonly Written<R>[]): Promise<void> {
    const marks = written.map(({ stored: { record, version } }) => ({ id: record.id, version }));
    return deps.cache.markRecords(kind.table, workspaceId, marks);
  }

  /** Removes the rows of former names. A failure is only logged, because rows of names that their records do not have are ignored. */
  async function dropNames(written: readonly Written<R>[], lock: Lock): Promise<void> {
    const rows = written.flatMap(({ stored: { record, version }, lost }) =>
      lost.map((name) => nameRow(name, rowOwner(kind, record), version, true)),
    );
    try {
      await deps.commitNames.add(rows, lock.workUntilMs);
    } catch (err) {
      deps.logger.warn({ err }, 'rows of former names were not removed');
    }
  }

  /** Applies `change` to a record. @returns what is to be written; undefined when nothing has changed */
  async function changeOf(current: Stored<R>, change: (record: R) => R | Promise<R>): Promise<Written<R> | undefined> {
    const changed = await change(current.record);
    if (changed === current.record) return undefined;
    const { id, workspaceId, createdAt } = current.record;
    const record = kind.schema.parse({ ...changed, id, workspaceId, createdAt });
    // A pending record has no name rows yet, so it gains all its names. The rows that the writer inserts later have a lower version.
    const before = new Set(current.isPending ? [] : kind.names(current.record).map(nameKey));
    const names = kind.names(record);
    const after = new Set(names.map(nameKey));
    return {
      stored: { record, version: nextVersion(deps, current.version) },
      gained: names.filter((name) => !before.has(nameKey(name))),
      lost: kind.names(current.record).filter((name) => !after.has(nameKey(name))),
    };
  }

  /** Whether the record was stored so recently that another process may have an older copy. The version of a change is its time. */
  const isYoung = ({ record, version }: Stored<R>) =>
    Math.max(version, Date.parse(record.createdAt)) > deps.now() - UNPUBLISHED_MS_MAX;

  /** The change without names that another record has, other than the first name, by which the record is found. */
  async function withoutTaken(one: Written<R>): Promise<Written<R>> {
    const [first, ...others] = one.gained;
    if (first === undefined) return one;
    const isFree = (name: Name) =>
      checkOwners([name], one.stored.record.id).then(
        () => true,
        (err: unknown) => {
          if (err instanceof NameTakenError) return false;
          throw err;
        },
      );
    const free = await Promise.all(others.map(isFree));
    return { ...one, gained: [first, ...others.filter((_name, index) => free[index])] };
  }

  /** Writes changed records under the locks of the names that they gain. */
  async function write(workspaceId: string, written: readonly Written<R>[], lock: Lock): Promise<void> {
    const gained = written.flatMap((one) => one.gained);
    checkDistinct(gained);
    const checkGained = async () =>
      (await Promise.all(written.map((one) => checkOwners(one.gained, one.stored.record.id)))).flat();
    const locked = [...gained, ...(await reservedNames(own, gained))];
    const nameLocks = await deps.locks.take(locked.map(nameLock), { whileBusy: checkGained });
    await underLock(nameLocks, async () => {
      for (const orphan of await checkGained()) await orphan.remove(lock);
      await setWriteMarkers(workspaceId, written);
      // Names change with the insert of the record: before it, the new name rows are ignored; after it, the old ones are.
      const gainedRows = written.flatMap(({ stored: { record, version }, gained: names }) =>
        names.map((name) => nameRow(name, rowOwner(kind, record), version)),
      );
      await deps.commitNames.add(gainedRows, lock.workUntilMs);
      await commit.add(
        written.map(({ stored }) => recordRow(kind, stored)),
        lock.workUntilMs,
      );
      await dropNames(written, lock);
      await updateCaches(workspaceId, written, lock);
    });
  }

  /**
   * Changes all of the records or, when `change` throws for one or a name is taken, none. A record for which `change` returns the
   * same object is not written, but if it is young, copies older than it are evicted: the process that stored it may have ended before it
   * published it.
   *
   * @param options.mayLackNames whether a record goes without names that another record has, other than its first name
   * @returns the records that exist, as they are stored now, in the order of `ids`
   * @throws NameTakenError; the error of `change`; ApiError 500 with `Retry-After` for stores that are away or locks that are held
   */
  async function updateMany(
    workspaceId: string,
    ids: readonly string[],
    change: (record: R) => R | Promise<R>,
    { mayLackNames = false } = {},
  ): Promise<R[]> {
    const { records, published } = await underRecordLocks(workspaceId, ids, async (found, lock) => {
      const changes = await Promise.all(found.map((current) => changeOf(current, change)));
      const wanted = changes.filter((one) => one !== undefined);
      const changed = mayLackNames ? await Promise.all(wanted.map(withoutTaken)) : wanted;
      if (changed.length > 0) await write(workspaceId, changed, lock);
      const unchanged = found
        .filter((stored, index) => changes[index] === undefined && isYoung(stored))
        .map((stored): Written<R> => ({ stored, gained: kind.names(stored.record), lost: [] }));
      return {
        records: found.map(({ record }, index) => changes[index]?.stored.record ?? record),
        published: [...changed, ...unchanged],
      };
    });
    await publishWritten(published);
    return records;
  }

  /**
   * Removes records and frees their names. Copies of records that do not exist are evicted: the process that removed one may have ended before
   * it published it.
   *
   * @param mayRemove throws to refuse the removal of all records, or returns false to keep this one
   * @returns the removed records
   */
  async function removeMany(
    workspaceId: string,
    ids: readonly string[],
    mayRemove: (record: R) => boolean | Promise<boolean> = () => true,
  ): Promise<R[]> {
    const { removed, absent } = await underRecordLocks(workspaceId, ids, async (found, lock, missing) => {
      const allowed = await Promise.all(found.map(({ record }) => mayRemove(record)));
      const marked = found
        .filter((_stored, index) => allowed[index])
        .map(({ record, version }) => ({
          stored: { record, version: nextVersion(deps, version) },
          gained: [],
          lost: kind.names(record),
        }));
      if (marked.length === 0) return { removed: [], absent: missing };
      await setWriteMarkers(workspaceId, marked);
      await commit.add(
        marked.map(({ stored }) => recordRow(kind, stored, true)),
        lock.workUntilMs,
      );
      await dropNames(marked, lock);
      await evictNames(marked);
      return { removed: marked, absent: missing };
    });
    await publishRemoved(
      removed,
      absent.map((id) => ({ workspaceId, id })),
    );
    return removed.map(({ stored }) => stored.record);
  }

  return {
    updateMany,
    removeMany,

    /** Changes a record; see {@link updateMany}. @returns the record as it is stored now; undefined when there is none */
    async update(workspaceId: string, id: string, change: (record: R) => R | Promise<R>): Promise<R | undefined> {
      return (await updateMany(workspaceId, [id], change))[0];
    },

    /** Removes a record. @returns the removed record; undefined when there was none */
    async remove(workspaceId: string, id: string): Promise<R | undefined> {
      return (await removeMany(workspaceId, [id]))[0];
    },
  };
}
