import { type EventRow, isInfrastructureError } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import type { GroupCommit } from './group-commit.js';
import type { CatalogChange } from './invalidations.js';
import {
  type CatalogRecord,
  isPossibleName,
  type Kind,
  type Name,
  nameKey,
  nameRow,
  numberOf,
  recordRow,
  type Stored,
} from './kind.js';
import type { LocalNames, LocalRecords } from './local-cache.js';
import type { Lock, Locks } from './locks.js';
import type { RecordReader } from './record-reader.js';
import type { RecordTable } from './record-table.js';
import type { RedisCache } from './redis-cache.js';
import { type CatalogLogger, UnknownOutcomeError, unavailable } from './unavailable.js';

/** A name that a create or an update asked for belongs to another record. */
export class NameTakenError extends ApiError {
  readonly taken: Name;

  constructor(taken: Name) {
    super('conflict', `${taken.name} is already in use.`);
    this.taken = taken;
  }
}

/** What writing needs whatever the kind. */
export interface WriteParts {
  readonly locks: Locks;
  readonly commitNames: GroupCommit;
  readonly cache: RedisCache;
  readonly localNames: LocalNames;
  readonly announce: (change: CatalogChange) => Promise<void>;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

/** What writing needs of one kind. */
export interface RecordParts<R extends CatalogRecord> {
  readonly kind: Kind<R>;
  readonly table: RecordTable<R>;
  readonly reader: RecordReader<R>;
  readonly commit: GroupCommit;
  readonly localRecords: LocalRecords<R>;
  /** Whether a record is left over from a creation of several that was killed half-way: its names may be taken over. */
  readonly isOrphan?: (record: R) => Promise<boolean>;
}

/** A left-over record in the way of a creation. */
export interface Orphan {
  remove(lock: Lock): Promise<void>;
}

/** A record about to be created, together with others or alone. */
export interface Creation {
  readonly lockName: string;
  readonly names: readonly Name[];
  /** Throws when another record owns one of the names, or the id is used already. */
  check(): Promise<readonly Orphan[]>;
  nameRows(): EventRow[];
  insert(lock: Lock): Promise<void>;
  remember(): Promise<void>;
}

const recordLock = <R extends CatalogRecord>(kind: Kind<R>, id: string) => `record/${kind.table}/${id}`;
const nameLock = (name: Name) => `name/${nameKey(name)}`;

function checkPossible(name: Name): void {
  if (isPossibleName(name)) return;
  throw new ApiError('unprocessable_entity', 'A name is too long or contains a NUL character.');
}

/**
 * Runs `work` and frees the lock, except after an insert with an unknown outcome: it may still land, so the lock is left to
 * expire, which is after the insert's last moment.
 */
async function underLock<T>(lock: Lock, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (err) {
    if (err instanceof UnknownOutcomeError) throw err;
    await lock.release();
    throw !(err instanceof ApiError) && isInfrastructureError(err) ? unavailable('catalog write', err) : err;
  }
  await lock.release();
  return result;
}

/**
 * Creates records that appear together. Rows of names go first and the records last, in the order given: a name row whose
 * record does not exist owns nothing, so a creation killed at any point leaves no half-made record and no name used up.
 */
export async function createRecords(parts: WriteParts, creations: readonly Creation[]): Promise<void> {
  for (const name of creations.flatMap(({ names }) => names)) checkPossible(name);
  const checkAll = async () => (await Promise.all(creations.map((creation) => creation.check()))).flat();
  const lockNames = creations.flatMap(({ names, lockName }) => [lockName, ...names.map(nameLock)]);
  const lock = await parts.locks.take(lockNames, { whileBusy: checkAll });
  await underLock(lock, async () => {
    for (const orphan of await checkAll()) await orphan.remove(lock);
    await parts.commitNames.add(
      creations.flatMap((creation) => creation.nameRows()),
      lock.workUntilMs,
    );
    for (const creation of creations) await creation.insert(lock);
    await Promise.all(creations.map((creation) => creation.remember()));
  });
}

/** Writes one kind: creations, updates under a lock on the id, removals. */
export function createRecordWriter<R extends CatalogRecord>(parts: WriteParts, own: RecordParts<R>) {
  const { kind, table, reader, commit, localRecords } = own;

  const rowOwner = (record: R) => ({
    id: numberOf(kind.resource, record.id),
    workspaceId: numberOf('workspace', record.workspaceId),
  });

  async function checkOwners(names: readonly Name[], id?: string): Promise<Orphan[]> {
    const found = await Promise.all(names.map((name) => checkOwner(name, id)));
    return found.filter((orphan) => orphan !== undefined);
  }

  async function checkOwner(name: Name, id: string | undefined): Promise<Orphan | undefined> {
    const owner = await reader.ownerInTables(name);
    if (owner === undefined || owner.record.id === id) return undefined;
    if (!(await own.isOrphan?.(owner.record))) throw new NameTakenError(name);
    const gone = { record: owner.record, version: owner.version + 1 };
    return { remove: (lock) => commit.add([recordRow(kind, gone, true)], lock.workUntilMs) };
  }

  /** After the rows are in: the caches here, in Redis and, by announcement, everywhere. Failing costs freshness only. */
  async function remember(next: Stored<R>, gained: readonly Name[], lost: readonly Name[]): Promise<void> {
    const { record, version } = next;
    const owner = { workspaceId: record.workspaceId, id: record.id };
    localRecords.put(`${owner.workspaceId}/${owner.id}`, next, parts.now());
    for (const name of gained) parts.localNames.put(nameKey(name), owner);
    for (const name of lost) parts.localNames.delete(nameKey(name));
    const data = { id: record.id, version, data: JSON.stringify(record) };
    await tryAll([
      parts.cache.putRecord(kind.table, record.workspaceId, data),
      ...gained.map((name) => parts.cache.putName(name, owner)),
      ...lost.map((name) => parts.cache.dropName(name)),
    ]);
    await announce(owner, version, [...gained, ...lost]);
  }

  async function announce(owner: { workspaceId: string; id: string }, version: number, names: readonly Name[]) {
    await tryAll([parts.announce({ names: names.map(nameKey), records: [{ table: kind.table, ...owner, version }] })]);
  }

  async function tryAll(work: readonly Promise<unknown>[]): Promise<void> {
    for (const outcome of await Promise.allSettled(work)) {
      if (outcome.status === 'rejected') parts.logger.warn({ err: outcome.reason }, 'catalog cache was not updated');
    }
  }

  /** Takes a name away. The record no longer says it, so a failure leaves a row that owns nothing. */
  async function dropNames(record: R, version: number, names: readonly Name[], lock: Lock): Promise<void> {
    const rows = names.map((name) => nameRow(name, rowOwner(record), version, true));
    await tryAll([parts.commitNames.add(rows, lock.workUntilMs)]);
  }

  function prepare(record: R): Creation {
    const stored = { record: kind.schema.parse(record), version: 1 };
    const names = kind.names(record);
    return {
      names,
      lockName: recordLock(kind, record.id),
      async check() {
        const [existing, orphans] = await Promise.all([table.get(record.workspaceId, record.id), checkOwners(names)]);
        if (existing !== undefined) throw unavailable(`${kind.table} id ${record.id} exists already`);
        return orphans;
      },
      nameRows: () => names.map((name) => nameRow(name, rowOwner(record), stored.version)),
      insert: (lock) => commit.add([recordRow(kind, stored)], lock.workUntilMs),
      remember: () => remember(stored, names, []),
    };
  }

  /** Runs `work` with the record as its table has it, while nobody else changes it. */
  async function whileHeld<T>(
    workspaceId: string,
    id: string,
    work: (current: Stored<R> | undefined, lock: Lock) => Promise<T>,
  ): Promise<T> {
    const lock = await parts.locks.take([recordLock(kind, id)]);
    return underLock(lock, async () => work(await table.get(workspaceId, id), lock));
  }

  async function writeChange(current: Stored<R>, record: R, lock: Lock): Promise<R> {
    const next = { record, version: current.version + 1 };
    const before = new Set(kind.names(current.record).map(nameKey));
    const names = kind.names(record);
    const after = new Set(names.map(nameKey));
    const gained = names.filter((name) => !before.has(nameKey(name)));
    const lost = kind.names(current.record).filter((name) => !after.has(nameKey(name)));
    for (const name of gained) checkPossible(name);
    const checkGained = () => checkOwners(gained, record.id);
    const nameLocks = await parts.locks.take(gained.map(nameLock), { whileBusy: checkGained });
    await underLock(nameLocks, async () => {
      for (const orphan of await checkGained()) await orphan.remove(lock);
      await parts.cache.markRecord(kind.table, record.workspaceId, record.id, next.version);
      // The record's own row is the switch: before it the new name owns nothing, after it the old one does not.
      const gainedRows = gained.map((name) => nameRow(name, rowOwner(record), next.version));
      await parts.commitNames.add(gainedRows, lock.workUntilMs);
      await commit.add([recordRow(kind, next)], lock.workUntilMs);
      await dropNames(record, next.version, lost, lock);
      await remember(next, gained, lost);
    });
    return record;
  }

  return {
    prepare,

    async create(record: R): Promise<R> {
      await createRecords(parts, [prepare(record)]);
      return record;
    },

    /** @returns the changed record, or undefined when there is none; `change` may throw to refuse */
    update(workspaceId: string, id: string, change: (record: R) => R | Promise<R>): Promise<R | undefined> {
      return whileHeld(workspaceId, id, async (current, lock) => {
        if (current === undefined) return undefined;
        const { workspaceId: owner, createdAt } = current.record;
        const record = kind.schema.parse({ ...(await change(current.record)), id, workspaceId: owner, createdAt });
        return writeChange(current, record, lock);
      });
    },

    /** @returns the record that was there */
    remove(workspaceId: string, id: string): Promise<R | undefined> {
      return whileHeld(workspaceId, id, async (current, lock) => {
        if (current === undefined) return undefined;
        const { record } = current;
        const version = current.version + 1;
        const names = kind.names(record);
        await parts.cache.markRecord(kind.table, workspaceId, id, version);
        await commit.add([recordRow(kind, { record, version }, true)], lock.workUntilMs);
        await dropNames(record, version, names, lock);
        localRecords.delete(`${workspaceId}/${id}`);
        for (const name of names) parts.localNames.delete(nameKey(name));
        await tryAll(names.map((name) => parts.cache.dropName(name)));
        await announce({ workspaceId, id }, version, names);
        return record;
      });
    },
  };
}
export type RecordWriter<R extends CatalogRecord> = ReturnType<typeof createRecordWriter<R>>;
