import { formatResourceId, parseResourceId } from '@waymark/contract';
import {
  type CatalogRecord,
  type EntityType,
  isPossibleName,
  type Name,
  nameKey,
  type Stored,
} from '../model/entity-type.js';
import { type CatalogLogger, unavailable, within } from '../model/errors.js';
import type { PendingRecords } from '../pending/pending-records.js';
import type { NameOwner, RedisCache } from '../redis/record-cache.js';
import type { LocalNames, LocalRecords } from './local-cache.js';
import { parseData, type RecordTable } from './record-table.js';
import type { NameClaim, NamesTable } from './unique-names.js';

/** After a failed read, unchanged copies are served without a new attempt for this long: an outage delays one read a second. */
const TROUBLE_MS = 1_000;

export interface ReaderDeps<R extends CatalogRecord> {
  readonly kind: EntityType<R>;
  readonly table: RecordTable<R>;
  readonly namesTable: NamesTable;
  readonly cache: RedisCache;
  readonly localRecords: LocalRecords<R>;
  readonly localNames: LocalNames;
  /** Set for types whose rows also arrive through the queue. */
  readonly pending: PendingRecords<R> | undefined;
  /** Whether the caches of this process may be used: the process holds its lease, so that it receives invalidations. */
  readonly mayUseCopies: (options: ReadOptions) => boolean;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

export interface ReadOptions {
  /** Time limit; after it an expired copy is served, or an error. */
  readonly limitMs?: number;
  /** While Redis is away, serve a cached copy of the last second rather than wait for ClickHouse. Set for redirects. */
  readonly mayLag?: boolean;
}

/** Which cached copies are accepted; see local-cache.ts. */
type CopyAge = 'unchanged' | 'stale';

/** How long an API call waits. */
const API_READ_MS_MAX = 5_000;
export const API_READ: ReadOptions = { limitMs: API_READ_MS_MAX };

/** The names of each record object, cached because every redirect checks them. Records never change in place. */
const namesOfRecords = new WeakMap<object, readonly Name[]>();

function hasName<R extends CatalogRecord>(kind: EntityType<R>, record: R, name: Name): boolean {
  let names = namesOfRecords.get(record);
  if (names === undefined) {
    names = kind.names(record);
    namesOfRecords.set(record, names);
  }
  return names.some((own) => own.name === name.name && own.kind === name.kind && own.scope === name.scope);
}

/**
 * Reads records of one type from the cache of this process, else Redis, else ClickHouse, with one read of a record or name at a
 * time. When both stores fail, an expired copy is served.
 */
export function createRecordReader<R extends CatalogRecord>(parts: ReaderDeps<R>) {
  const { kind, table, namesTable, cache, localRecords, localNames, pending, mayUseCopies, now } = parts;
  const flights = new Map<string, Promise<R | undefined>>();
  /** Incremented by every change: results of reads that began before a change are not cached. */
  let changes = 0;

  /** Numbers of records looked up, by the store that had them. */
  const lookups = { memory: 0, redis: 0, clickhouse: 0 };
  let troubleUntilMs = Number.NEGATIVE_INFINITY;

  const localKey = (workspaceId: string, id: string) => `${workspaceId}/${id}`;
  const isId = (id: string) => parseResourceId(kind.resource, id) !== undefined;

  function fly(key: string, start: () => Promise<R | undefined>): Promise<R | undefined> {
    const known = flights.get(key);
    if (known !== undefined) return known;
    const flight: Promise<R | undefined> = start().finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    flights.set(key, flight);
    return flight;
  }

  /** Call it before a read. The returned function caches the result in this process, unless a change was published meanwhile. */
  function beginning() {
    const [startedMs, changesBefore] = [now(), changes];
    return {
      record(workspaceId: string, stored: Stored<R>): void {
        if (changes === changesBefore) localRecords.put(localKey(workspaceId, stored.record.id), stored, startedMs);
      },
      name(key: string, owner: NameOwner | undefined): void {
        if (changes === changesBefore) localNames.put(key, owner, startedMs);
      },
    };
  }

  /** Stores a result of ClickHouse in both caches. */
  function keep(workspaceId: string, read: readonly Stored<R>[], here: ReturnType<typeof beginning>): void {
    for (const stored of read) here.record(workspaceId, stored);
    const fills = read.map(({ version, record }) => ({ id: record.id, version, data: JSON.stringify(record) }));
    void cache.fillRecords(kind.table, workspaceId, fills);
  }

  /** Reads from Redis, and what is missing there from ClickHouse. */
  async function load(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const here = beginning();
    const found = new Map<string, R>();
    const cached = await cache.readRecords(kind.table, workspaceId, ids);
    ids.forEach((id, index) => {
      const entry = cached?.[index];
      if (entry?.data === undefined) return;
      const record = parseData(kind, entry.data);
      here.record(workspaceId, { version: entry.version, record });
      found.set(id, record);
    });
    lookups.redis += found.size;
    const missing = ids.filter((id) => !found.has(id));
    lookups.clickhouse += missing.length;
    if (missing.length === 0) return found;
    const answers = await Promise.all(missing.map((id) => table.get(workspaceId, id)));
    const read = answers.filter((stored) => stored !== undefined);
    keep(workspaceId, read, here);
    for (const { record } of read) found.set(record.id, record);
    for (const id of missing) if (!found.has(id)) localRecords.delete(localKey(workspaceId, id));
    return found;
  }

  /** The copy that {@link get} would answer with, without waiting; undefined when it would have to query a store. */
  function fresh(workspaceId: string, id: string, options: ReadOptions): R | undefined {
    const record = mayUseCopies(options) ? localRecords.fresh(localKey(workspaceId, id))?.record : undefined;
    if (record !== undefined) lookups.memory += 1;
    return record;
  }

  async function get(workspaceId: string, id: string, options: ReadOptions = {}): Promise<R | undefined> {
    const copy = fresh(workspaceId, id, options);
    if (copy !== undefined) return copy;
    if (!isId(id)) return undefined;
    const key = localKey(workspaceId, id);
    const read = () => fly(key, async () => (await load(workspaceId, [id])).get(id));
    return readOr((age) => localRecords[age](key)?.record, options.limitMs, `${kind.table} by id`, read);
  }

  /** The result of `read` within its time limit; an expired copy rather than an error. */
  async function readOr(
    copyOf: (age: CopyAge) => R | undefined,
    limitMs: number | undefined,
    what: string,
    read: () => Promise<R | undefined>,
  ): Promise<R | undefined> {
    const unchanged = now() < troubleUntilMs ? copyOf('unchanged') : undefined;
    if (unchanged !== undefined) return unchanged;
    try {
      return await within(read(), limitMs ?? API_READ_MS_MAX, what);
    } catch (err) {
      noteTrouble(err);
      const copy = copyOf('stale');
      if (copy === undefined) throw unavailable(what, err);
      return copy;
    }
  }

  function noteTrouble(err: unknown): void {
    if (now() >= troubleUntilMs)
      parts.logger.warn({ err, table: kind.table }, 'catalog read failed; serving stale copies');
    troubleUntilMs = now() + TROUBLE_MS;
  }

  /** The record that owns a name; of several claims the oldest id takes precedence. */
  async function ownerAmong(claims: readonly NameClaim[], name: Name): Promise<Stored<R> | undefined> {
    for (const claim of claims) {
      const stored = await table.get(
        formatResourceId('workspace', claim.workspaceNumber),
        table.publicId(claim.number),
      );
      if (stored !== undefined && hasName(kind, stored.record, name)) return stored;
    }
    return undefined;
  }

  /** The record that owns a name according to the queue, which is read first, and the tables. */
  async function findOwnerUncached(name: Name): Promise<Stored<R> | undefined> {
    const peeked = await pending?.peekByName(name);
    const owner = await ownerAmong(await namesTable.claims(name), name);
    if (owner !== undefined || pending === undefined) return owner;
    const claim = peeked === undefined ? await pending.readByName(name) : peeked.found;
    if (claim !== undefined) return ownerAmong([claim], name);
    return peeked === undefined ? ownerAmong(await namesTable.claims(name), name) : undefined;
  }

  async function recordOf(owner: NameOwner, name: Name): Promise<R | undefined> {
    const record = await get(owner.workspaceId, owner.id);
    return record !== undefined && hasName(kind, record, name) ? record : undefined;
  }

  async function resolve(name: Name): Promise<R | undefined> {
    const key = nameKey(name);
    const here = beginning();
    const cached = await cache.readName(name);
    if (cached?.owner === 'nobody') {
      lookups.redis += 1;
      here.name(key, undefined);
      return undefined;
    }
    if (cached?.owner !== undefined) {
      const record = await recordOf(cached.owner, name);
      if (record !== undefined) {
        here.name(key, cached.owner);
        return record;
      }
    }
    lookups.clickhouse += 1;
    const stored = await findOwnerUncached(name);
    const owner = stored && { workspaceId: stored.record.workspaceId, id: stored.record.id };
    if (stored !== undefined) keep(stored.record.workspaceId, [stored], here);
    // Not cached: nothing evicts a cached "unknown" when a customer arrives through the queue.
    else if (kind.queued !== undefined) return undefined;
    here.name(key, owner);
    if (cached !== undefined) void cache.fillName(name, cached.seen, owner);
    return stored?.record;
  }

  /** As {@link fresh}, by name. */
  function freshByName(name: Name, options: ReadOptions): R | undefined {
    const owner = mayUseCopies(options) ? localNames.fresh(nameKey(name))?.owner : undefined;
    if (owner === undefined) return undefined;
    const record = localRecords.fresh(localKey(owner.workspaceId, owner.id))?.record;
    if (record === undefined || !hasName(kind, record, name)) return undefined;
    lookups.memory += 1;
    return record;
  }

  /** @param options.limitMs covers the whole look-up */
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
    const read = () => fly(key, () => resolve(name));
    return readOr((age) => copyByName(name, age), options.limitMs, `${kind.table} by name`, read);
  }

  function copyByName(name: Name, age: CopyAge): R | undefined {
    const owner = localNames.peek(nameKey(name))?.owner;
    if (owner === undefined) return undefined;
    const record = localRecords[age](localKey(owner.workspaceId, owner.id))?.record;
    return record !== undefined && hasName(kind, record, name) ? record : undefined;
  }

  async function getMany(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const found = new Map<string, R>();
    for (const id of mayUseCopies({}) ? ids : []) {
      const fresh = localRecords.fresh(localKey(workspaceId, id));
      if (fresh !== undefined) found.set(id, fresh.record);
    }
    lookups.memory += found.size;
    const missing = [...new Set(ids)].filter((id) => !found.has(id) && isId(id));
    if (missing.length === 0) return found;
    for (const [id, record] of await loadOr(workspaceId, missing)) found.set(id, record);
    return found;
  }

  /** As {@link readOr}, for many; an error only when one of them has no copy. */
  async function loadOr(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const copies = (age: CopyAge) => {
      const all = ids.map((id) => [id, localRecords[age](localKey(workspaceId, id))?.record] as const);
      return all.every((pair): pair is [string, R] => pair[1] !== undefined) ? new Map(all) : undefined;
    };
    const unchanged = now() < troubleUntilMs ? copies('unchanged') : undefined;
    if (unchanged !== undefined) return unchanged;
    const what = `${kind.table} by ids`;
    try {
      return await within(load(workspaceId, ids), API_READ_MS_MAX, what);
    } catch (err) {
      noteTrouble(err);
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

    /** Call it after a change: later calls do not share a read that began before it. */
    outdate(): void {
      changes += 1;
      flights.clear();
    },
  };
}
export type RecordReader<R extends CatalogRecord> = ReturnType<typeof createRecordReader<R>>;
