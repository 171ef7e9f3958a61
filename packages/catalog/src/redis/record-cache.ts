import { randomBytes } from 'node:crypto';
import { type Name, nameKey } from '../model/entity-type.js';
import type { CacheMemory } from './cache-memory.js';
import type { RedisConnections } from './connections.js';
import { cachePrefix } from './evict-all.js';

/** TTL of a write marker. If the writing process is killed, reads of the record go to ClickHouse until the marker expires. */
const WRITE_MARKER_TTL_MS = 60_000;
/** TTL of names without an owner. Short, because anonymous requests can look up any name. */
const UNOWNED_TTL_MS = 5_000;
/**
 * Characters of a record's JSON up to which Redis has it, so that the caches of a few large records do not fill the memory that the queue is
 * in, and that a process which only compares versions receives little. Of a larger record it has the version, with which a process that has
 * a copy goes on using it.
 */
const DATA_CHARS_MAX = 8_000;

/**
 * Sets entries `<version>|<data>`, or `+<version>|` of a record that is too large. An entry `<version>|` is a write marker: this version is
 * being written, so reads go to ClickHouse. An existing entry stays if its version is higher, or if it is of the same version, the new one is
 * a marker, and it is not. Releases that do not set `+` take it for a marker. KEYS one for each record; ARGV TTL in ms, then version and data
 * of each.
 */
const SET_RECORDS = `
for i, key in ipairs(KEYS) do
  local version, data = tonumber(ARGV[2 * i]), ARGV[2 * i + 1]
  local current = redis.call('GET', key)
  local isOlder = false
  if current then
    local bar = string.find(current, '|', 1, true)
    local known = tonumber(string.sub(current, 1, bar - 1))
    local isWritten = #current > bar or string.sub(current, 1, 1) == '+'
    local isMarker = data == '' and string.sub(ARGV[2 * i], 1, 1) ~= '+'
    isOlder = known > version or (known == version and isWritten and isMarker)
  end
  if not isOlder then redis.call('SET', key, ARGV[2 * i] .. '|' .. data, 'PX', ARGV[1]) end
end
return 1`;

/**
 * Sets the entry of a name if it is still the one that the reader has found, so that a slow reader does not overwrite a newer entry. KEYS
 * the name; ARGV the found entry ('' = none), the new entry, TTL in ms.
 */
const REPLACE_NAME = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/** The record that owns a name, as public ids. */
export interface NameOwner {
  readonly workspaceId: string;
  readonly id: string;
}

/** The method of the connections that reads; see `CommandConnections`. */
type HowToRead = 'tryRead' | 'tryRun';

/** The cached entry of a record. */
interface CachedRecord {
  readonly version: number;
  /** Whether the version is written; false: reads go to ClickHouse. */
  readonly isWritten: boolean;
  /** Its JSON; undefined while the version is being written, and of a record that is too large. */
  readonly data: string | undefined;
}

/** The cached entry of a name. */
export interface CachedName {
  /** The raw entry, for compare-and-set; '' = there is none. */
  readonly seen: string;
  /** `none`: no record has the name; undefined: the cache has no entry. */
  readonly owner: NameOwner | 'none' | undefined;
}

/** The version and JSON of a record. */
export interface RecordData {
  readonly id: string;
  readonly version: number;
  readonly data: string;
}

const NO_OWNER = '-';

const nameValue = (owner: NameOwner | undefined) =>
  owner === undefined ? NO_OWNER : `${owner.workspaceId}/${owner.id}`;

function parseRecord(text: string | null): CachedRecord | undefined {
  if (text === null) return undefined;
  const bar = text.indexOf('|');
  const data = text.slice(bar + 1);
  const isWritten = data !== '' || text.startsWith('+');
  return { version: Number(text.slice(0, bar)), isWritten, data: data === '' ? undefined : data };
}

/** The parts of a record's entry; see {@link SET_RECORDS}. */
interface Entry {
  readonly id: string;
  readonly version: string;
  readonly data: string;
}

/** The entry of a written record. */
function writtenEntry({ id, version, data }: RecordData): Entry {
  return data.length > DATA_CHARS_MAX ? { id, version: `+${version}`, data: '' } : { id, version: `${version}`, data };
}

function parseName(text: string | null): CachedName {
  if (text === null) return { seen: '', owner: undefined };
  const [workspaceId, id] = text.split('/');
  return workspaceId === undefined || id === undefined
    ? { seen: text, owner: 'none' }
    : { seen: text, owner: { workspaceId, id } };
}

/** The cache of records and names in Redis. Deleting it loses no data. */
export function createRedisCache(redis: RedisConnections, memory: CacheMemory) {
  const prefix = cachePrefix(redis.keyPrefix);
  const recordKey = (table: string, workspaceId: string, id: string) => `${prefix}{${workspaceId}}:${table}:${id}`;
  const redisNameKey = (name: Name) => `${prefix}name:${nameKey(name)}`;

  const setArguments = (table: string, workspaceId: string, records: readonly Entry[], ttlMs: number) => [
    ...records.map(({ id }) => recordKey(table, workspaceId, id)),
    ttlMs,
    ...records.flatMap(({ version, data }) => [version, data]),
  ];

  return {
    isReadable: redis.isReadable,

    /**
     * The entries in the order of `ids`, undefined for a record without one. The whole result is undefined when Redis cannot be read.
     *
     * @param how `tryRun` also reads a Redis whose replicas confirm nothing
     */
    async readRecords(table: string, workspaceId: string, ids: readonly string[], how: HowToRead = 'tryRead') {
      const texts = await redis[how]((client) => client.mget(ids.map((id) => recordKey(table, workspaceId, id))));
      return texts?.map(parseRecord);
    },

    /** Stores records that were read from ClickHouse. */
    async fillRecords(table: string, workspaceId: string, records: readonly RecordData[]): Promise<void> {
      const ttlMs = memory.optionalTtlMs();
      if (ttlMs === undefined || records.length === 0) return;
      const values = setArguments(table, workspaceId, records.map(writtenEntry), ttlMs);
      await redis.tryRun((client) => client.eval(SET_RECORDS, records.length, ...values));
    },

    /** Sets write markers. Call it before changes are written: from then on older versions are neither served nor cached. */
    async markRecords(table: string, workspaceId: string, records: readonly Omit<RecordData, 'data'>[]): Promise<void> {
      if (records.length === 0) return;
      const marks = records.map(({ id, version }) => ({ id, version: `${version}`, data: '' }));
      const values = setArguments(table, workspaceId, marks, WRITE_MARKER_TTL_MS);
      await redis.run((client) => client.eval(SET_RECORDS, marks.length, ...values));
    },

    /** Stores changed records. Call it after the changes are written. @throws ApiError 500 with `Retry-After` */
    async putRecords(table: string, workspaceId: string, records: readonly RecordData[]): Promise<void> {
      const ttlMs = memory.optionalTtlMs();
      if (ttlMs === undefined || records.length === 0) return;
      const values = setArguments(table, workspaceId, records.map(writtenEntry), ttlMs);
      await redis.run((client) => client.eval(SET_RECORDS, records.length, ...values));
    },

    /** The entry of a name; undefined when Redis cannot be read. @param how as in `readRecords` */
    async readName(name: Name, how: HowToRead = 'tryRead'): Promise<CachedName | undefined> {
      const text = await redis[how]((client) => client.get(redisNameKey(name)));
      return text === undefined ? undefined : parseName(text);
    },

    /**
     * Stores the owner of a name that was read from ClickHouse, unless the entry has changed since the reader found it.
     *
     * @param saw the `seen` of the entry that it found
     */
    async fillName(name: Name, saw: string, owner: NameOwner | undefined): Promise<void> {
      const ttlMs = memory.optionalTtlMs();
      if (ttlMs === undefined) return;
      const nameTtlMs = owner === undefined ? UNOWNED_TTL_MS : ttlMs;
      await redis.tryRun((client) =>
        client.eval(REPLACE_NAME, 1, redisNameKey(name), saw, nameValue(owner), nameTtlMs),
      );
    },

    /**
     * Stores the owner of a name. Call it after the name was written, while holding its lock. The entry has a part that is unique, which readers
     * ignore: a name that is taken away and given back has another entry than before, so that a look-up of the time between cannot replace it.
     *
     * @throws ApiError 500 with `Retry-After`
     */
    async putName(name: Name, owner: NameOwner): Promise<void> {
      const value = `${nameValue(owner)}/${randomBytes(6).toString('base64url')}`;
      await redis.run((client) => client.set(redisNameKey(name), value, 'PX', memory.ttlMs()));
    },

    /** Removes the entry of a name. @throws ApiError 500 with `Retry-After` */
    async dropName(name: Name): Promise<void> {
      await redis.run((client) => client.del(redisNameKey(name)));
    },
  };
}
export type RedisCache = ReturnType<typeof createRedisCache>;
