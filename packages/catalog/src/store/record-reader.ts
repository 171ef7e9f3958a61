import { createRecentChanges } from '@waymark/cache';
import { formatResourceId, parseResourceId } from '@waymark/contract';
import { throttled } from '@waymark/event-queue';
import {
  type CatalogRecord,
  type EntityType,
  hasName,
  isPossibleName,
  type Name,
  nameKey,
  type Stored,
} from '../model/entity-type.js';
import { type CatalogLogger, unavailable, unavailableAfter } from '../model/errors.js';
import { isUnreadable, parseData, UNREADABLE_LOG_MS } from '../model/parse-record.js';
import { API_READ_MS_MAX, type ReadOptions } from '../model/read-options.js';
import type { PendingRecords } from '../pending/pending-records.js';
import type { CachedName, NameOwner, RedisCache } from '../redis/record-cache.js';
import type { LocalNames, LocalRecords } from './local-cache.js';
import type { RecordTable } from './record-table.js';
import { createSharedLookUps, localKey } from './shared-look-ups.js';
import type { NameRow, NamesTable } from './unique-names.js';

/**
 * For this long after a failed read, expired copies that were not invalidated are served without waiting for the stores, so that an outage
 * delays only one read a second.
 */
const FAILING_MS = 1_000;

/** Dependencies of {@link createRecordReader}. */
export interface ReaderDeps<R extends CatalogRecord> {
  readonly kind: EntityType<R>;
  readonly table: RecordTable<R>;
  readonly namesTable: NamesTable;
  readonly cache: RedisCache;
  readonly localRecords: LocalRecords<R>;
  readonly localNames: LocalNames;
  /** Set for types whose records `/track` also creates through the queue. */
  readonly pending: PendingRecords<R> | undefined;
  /** Whether the caches of this process may be used: it holds its lease, or Redis cannot be read and the read `mayLag`. */
  readonly mayUseCopies: (options: ReadOptions) => boolean;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

/** Which expired copies may be served; see local-cache.ts. */
type CopyAge = 'unchanged' | 'stale';

/** Where a record is when a read of it fails: in an expired copy, or in a Redis that may be a former master. */
interface OtherSources<R> {
  readonly copyOf: (age: CopyAge) => R | undefined;
  readonly lagging: () => Promise<R | undefined>;
}

/**
 * The result of a read that took longer is not stored in Redis, because the marker of a write since its beginning may have expired there.
 */
const FILL_MS_MAX = 30_000;

/**
 * Number of changed records and names that are kept for look-ups under way, which they may have made outdated. An import changes a few
 * thousand a second, and a look-up rarely takes a tenth of a second.
 */
const CHANGES_KEPT = 10_000;

/**
 * Reads records of one type from the cache of this process, or else from Redis, or else from ClickHouse. Concurrent reads of the same
 * record or name share one look-up in each store (single-flight). When both stores fail, expired copies are served
 * (docs/reference/consistency.md).
 */
export function createRecordReader<R extends CatalogRecord>(deps: ReaderDeps<R>) {
  const { kind, table, namesTable, cache, localRecords, localNames, pending, mayUseCopies, now } = deps;
  const changes = createRecentChanges(CHANGES_KEPT);
  /**
   * Look-ups that wait for Redis, and look-ups that wait for ClickHouse. They are separate: a read that begins while ClickHouse does not
   * answer queries Redis first, because Redis may answer again although it failed when the other look-up began.
   */
  const inRedis = createSharedLookUps<R>(changes);
  const inClickHouse = createSharedLookUps<R>(changes);

  /** Numbers of look-ups by the place that answered, for metrics. Look-ups that find no record are counted too. */
  const lookups = { memory: 0, redis: 0, clickhouse: 0 };
  let failingUntilMs = Number.NEGATIVE_INFINITY;

  const isId = (id: string) => parseResourceId(kind.resource, id) !== undefined;

  /**
   * Call it before a read. The returned functions store its results in this process, unless a change of the same record or name was received
   * meanwhile.
   */
  function beginFill() {
    const [startedMs, since] = [now(), changes.count()];
    return {
      isRecent: () => now() - startedMs < FILL_MS_MAX,
      /** @param chars see `put` of the cache */
      record(workspaceId: string, stored: Stored<R>, chars: number): void {
        const key = localKey(workspaceId, stored.record.id);
        if (!changes.isChangedSince(key, since)) localRecords.put(key, stored, startedMs, chars);
      },
      name(key: string, owner: NameOwner | undefined): void {
        if (!changes.isChangedSince(key, since)) localNames.put(key, owner, startedMs);
      },
    };
  }

  /** Stores records that were read from ClickHouse in the caches of this process and of Redis. */
  function cacheRead(workspaceId: string, read: readonly Stored<R>[], fill: ReturnType<typeof beginFill>): void {
    const fills = read.map((stored) => {
      const { record, version } = stored;
      const data = JSON.stringify(record);
      fill.record(workspaceId, stored, data.length);
      return { id: record.id, version, data };
    });
    if (fill.isRecent()) void cache.fillRecords(kind.table, workspaceId, fills);
  }

  /** Reads records from Redis only. @param isLagging also if it may be a former master; then nothing is stored in this process */
  async function readCached(workspaceId: string, ids: readonly string[], isLagging = false): Promise<Map<string, R>> {
    const fill = beginFill();
    const found = new Map<string, R>();
    const cached = await cache.readRecords(kind.table, workspaceId, ids, isLagging ? 'tryRun' : 'tryRead');
    ids.forEach((id, index) => {
      const entry = cached?.[index];
      if (!entry?.isWritten) return;
      const { version, data } = entry;
      // Parsing a record takes longer than reading it, and values derived from a record are cached by its object.
      const copy = localRecords.parsed(localKey(workspaceId, id), version);
      const stored = copy ?? (data === undefined ? undefined : { version, record: parseData(kind, data) });
      if (stored === undefined) return;
      if (!isLagging) fill.record(workspaceId, stored, data?.length ?? 0);
      found.set(id, stored.record);
    });
    lookups.redis += found.size;
    return found;
  }

  /** The records that ClickHouse has. */
  async function readTable(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const fill = beginFill();
    lookups.clickhouse += ids.length;
    const answers = await Promise.all(ids.map((id) => table.get(workspaceId, id)));
    const read = answers.filter((stored) => stored !== undefined);
    cacheRead(workspaceId, read, fill);
    const found = new Map(read.map(({ record }) => [record.id, record] as const));
    // A record that no longer exists must not be served as an expired copy later.
    for (const id of ids) if (!found.has(id)) localRecords.delete(localKey(workspaceId, id));
    return found;
  }

  /** Reads from Redis, and what is missing there from ClickHouse. */
  async function load(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const found = await readCached(workspaceId, ids);
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length === 0) return found;
    for (const [id, record] of await readTable(workspaceId, missing)) found.set(id, record);
    return found;
  }

  /** The copy in this process that {@link get} would return; undefined when it would have to query a store. */
  function fresh(workspaceId: string, id: string, options: ReadOptions): R | undefined {
    const record = mayUseCopies(options) ? localRecords.fresh(localKey(workspaceId, id))?.record : undefined;
    if (record !== undefined) lookups.memory += 1;
    return record;
  }

  /** The record with that id. @throws ApiError 500 with `Retry-After` when the stores are away and there is no copy */
  async function get(workspaceId: string, id: string, options: ReadOptions = {}): Promise<R | undefined> {
    const copy = fresh(workspaceId, id, options);
    if (copy !== undefined) return copy;
    if (!isId(id)) return undefined;
    const key = localKey(workspaceId, id);
    const readClickHouse = async () => (await readTable(workspaceId, [id])).get(id);
    const read = () =>
      inRedis.share(key, async (leave) => {
        const cached = (await readCached(workspaceId, [id])).get(id);
        if (cached !== undefined) return cached;
        leave();
        return inClickHouse.share(key, readClickHouse);
      });
    const others: OtherSources<R> = {
      copyOf: (age) => localRecords[age](key)?.record,
      lagging: async () => (await readCached(workspaceId, [id], true)).get(id),
    };
    return readOrStale(read, others, options, `${kind.table} by id`);
  }

  /**
   * Runs `read` within its time limit. When it fails, returns an expired copy, or what Redis has if the read may lag: while a replica is
   * missing, `read` does not read Redis, and redirects must not depend on ClickHouse alone.
   *
   * @throws ApiError 500 with `Retry-After` when there is none
   */
  async function readOrStale(
    read: () => Promise<R | undefined>,
    { copyOf, lagging }: OtherSources<R>,
    { limitMs = API_READ_MS_MAX, mayLag = false }: ReadOptions,
    what: string,
  ): Promise<R | undefined> {
    if (now() < failingUntilMs) {
      const known = copyOf('unchanged') ?? (mayLag && !cache.isReadable() ? await lagging() : undefined);
      if (known !== undefined) return known;
    }
    try {
      return await unavailableAfter(read(), limitMs, what);
    } catch (err) {
      noteFailure(err);
      const copy = copyOf('stale') ?? (mayLag ? await lagging().catch(() => undefined) : undefined);
      if (copy === undefined) throw unavailable(what, err);
      return copy;
    }
  }

  const warnOfUnreadable = throttled(deps.logger.warn.bind(deps.logger), UNREADABLE_LOG_MS);

  function noteFailure(err: unknown): void {
    // The stores answer, so that others need no stale copies.
    if (isUnreadable(err)) {
      warnOfUnreadable({ err, table: kind.table }, 'a record cannot be read');
      return;
    }
    if (now() >= failingUntilMs)
      deps.logger.warn({ err, table: kind.table }, 'catalog read failed; serving stale copies');
    failingUntilMs = now() + FAILING_MS;
  }

  /** The first of the records with a row for the name, in the order of the rows, that still exists and has the name. */
  async function ownerAmong(rows: readonly NameRow[], name: Name): Promise<Stored<R> | undefined> {
    for (const { workspaceNumber, number } of rows) {
      const stored = await table.get(formatResourceId('workspace', workspaceNumber), table.publicId(number));
      if (stored !== undefined && hasName(kind, stored.record, name)) return stored;
    }
    return undefined;
  }

  /**
   * Finds the owner of a name without caches: first in the queue, then in the tables, so that a row which the writer inserts between is
   * found.
   */
  async function findOwnerUncached(name: Name): Promise<Stored<R> | undefined> {
    const peeked = await pending?.peekByName(name);
    const owner = await ownerAmong(await namesTable.rowsOf(name), name);
    if (owner !== undefined || pending === undefined) return owner;
    const queued = peeked === undefined ? await pending.readByName(name) : peeked.found;
    if (queued !== undefined) return ownerAmong([queued], name);
    // If the peek has failed, the queue was read after the tables, so the tables are read again.
    return peeked === undefined ? ownerAmong(await namesTable.rowsOf(name), name) : undefined;
  }

  async function recordOf(owner: NameOwner, name: Name): Promise<R | undefined> {
    const record = await get(owner.workspaceId, owner.id);
    return record !== undefined && hasName(kind, record, name) ? record : undefined;
  }

  /**
   * Finds the owner of a name in Redis, or else without caches, and stores it in the caches.
   *
   * @param leave called when Redis has answered or failed, so that only ClickHouse can still have the record
   */
  async function resolve(name: Name, leave: () => void): Promise<R | undefined> {
    const key = nameKey(name);
    const fill = beginFill();
    const cached = await cache.readName(name);
    leave();
    if (cached?.owner === 'none') {
      lookups.redis += 1;
      fill.name(key, undefined);
      return undefined;
    }
    if (cached?.owner !== undefined) {
      const record = await recordOf(cached.owner, name);
      if (record !== undefined) {
        fill.name(key, cached.owner);
        return record;
      }
    }
    return inClickHouse.share(key, () => resolveUncached(name, cached));
  }

  /** @param cached what Redis had of the name; undefined when it was away */
  async function resolveUncached(name: Name, cached: CachedName | undefined): Promise<R | undefined> {
    const key = nameKey(name);
    const fill = beginFill();
    lookups.clickhouse += 1;
    const stored = await findOwnerUncached(name);
    const owner = stored && { workspaceId: stored.record.workspaceId, id: stored.record.id };
    if (stored !== undefined) cacheRead(stored.record.workspaceId, [stored], fill);
    // For types with pending records, the absence of an owner is not cached: `/track` creates customers through the queue, and evicts
    // nothing.
    else if (kind.queued !== undefined) return undefined;
    fill.name(key, owner);
    if (cached !== undefined && fill.isRecent()) void cache.fillName(name, cached.seen, owner);
    return stored?.record;
  }

  /** Like {@link fresh}, by name. */
  function freshByName(name: Name, options: ReadOptions): R | undefined {
    const owner = mayUseCopies(options) ? localNames.fresh(nameKey(name))?.owner : undefined;
    if (owner === undefined) return undefined;
    const record = localRecords.fresh(localKey(owner.workspaceId, owner.id))?.record;
    if (record === undefined || !hasName(kind, record, name)) return undefined;
    lookups.memory += 1;
    return record;
  }

  /** Finds a record by name. @param options.limitMs limits the whole look-up @throws as {@link get} */
  async function findByName(name: Name, options: ReadOptions = {}): Promise<R | undefined> {
    const copy = freshByName(name, options);
    if (copy !== undefined) return copy;
    if (!isPossibleName(name)) return undefined;
    const key = nameKey(name);
    const known = mayUseCopies(options) ? localNames.fresh(key) : undefined;
    if (known !== undefined && known.owner === undefined) {
      lookups.memory += 1;
      return undefined;
    }
    const read = () => inRedis.share(key, (leave) => resolve(name, leave));
    const others: OtherSources<R> = { copyOf: (age) => copyByName(name, age), lagging: () => laggingByName(name) };
    return readOrStale(read, others, options, `${kind.table} by name`);
  }

  async function laggingByName(name: Name): Promise<R | undefined> {
    const owner = (await cache.readName(name, 'tryRun'))?.owner;
    if (owner === undefined || owner === 'none') return undefined;
    const record = (await readCached(owner.workspaceId, [owner.id], true)).get(owner.id);
    return record !== undefined && hasName(kind, record, name) ? record : undefined;
  }

  function copyByName(name: Name, age: CopyAge): R | undefined {
    const owner = localNames.peek(nameKey(name))?.owner;
    if (owner === undefined) return undefined;
    const record = localRecords[age](localKey(owner.workspaceId, owner.id))?.record;
    return record !== undefined && hasName(kind, record, name) ? record : undefined;
  }

  /** The records that exist, by id. @throws as {@link get} */
  async function getMany(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const found = new Map<string, R>();
    for (const id of mayUseCopies({}) ? ids : []) {
      const fresh = localRecords.fresh(localKey(workspaceId, id));
      if (fresh !== undefined) found.set(id, fresh.record);
    }
    lookups.memory += found.size;
    const missing = [...new Set(ids)].filter((id) => !found.has(id) && isId(id));
    if (missing.length === 0) return found;
    for (const [id, record] of await loadOrStale(workspaceId, missing)) found.set(id, record);
    return found;
  }

  /** Like {@link readOrStale}, for many records; throws when one of them has no copy. */
  async function loadOrStale(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const copies = (age: CopyAge) => {
      const all = ids.map((id) => [id, localRecords[age](localKey(workspaceId, id))?.record] as const);
      return all.every((pair): pair is [string, R] => pair[1] !== undefined) ? new Map(all) : undefined;
    };
    const unchanged = now() < failingUntilMs ? copies('unchanged') : undefined;
    if (unchanged !== undefined) return unchanged;
    const what = `${kind.table} by ids`;
    try {
      return await unavailableAfter(load(workspaceId, ids), API_READ_MS_MAX, what);
    } catch (err) {
      noteFailure(err);
      const stale = copies('stale');
      if (stale === undefined) throw unavailable(what, err);
      return stale;
    }
  }

  return {
    fresh,
    freshByName,
    get,
    getMany,
    findByName,
    findOwnerUncached,
    lookups,

    /**
     * Call it after a change of the records with these {@link localKey local keys} and the names with these `nameKey`s: look-ups of them that
     * began before it are neither cached nor shared with later reads.
     */
    outdate(keys: readonly string[]): void {
      changes.add(keys);
      inRedis.leave(keys);
      inClickHouse.leave(keys);
    },

    /** The same for all records and names, when changes may have been missed. */
    outdateAll(): void {
      changes.addAll();
      inRedis.leaveAll();
      inClickHouse.leaveAll();
    },
  };
}
export type RecordReader<R extends CatalogRecord> = ReturnType<typeof createRecordReader<R>>;
