import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CatalogLogger } from '../model/errors.js';
import type { CacheMemory } from './cache-memory.js';
import type { AffectedTotals } from './catalog-changes.js';
import type { RedisConnections } from './connections.js';
import { cachePrefix } from './evict-all.js';

/**
 * TTL of totals. It limits how long they are outdated after a change by hand in ClickHouse, or by a writer of a release that evicts none.
 */
const TTL_MS_MAX = 600_000;
/** Time within which totals must be read from ClickHouse to be stored. */
const FILL_LEASE_MS = 5_000;
/** TTL of a mark, whose eviction never comes if the writer is killed. Longer than an insert into ClickHouse may take. */
const MARK_MS = 60_000;
/** Pause between attempts to begin a new generation. */
const RETRY_MS = 1_000;

/**
 * An entry has one of three forms. `<generation>|=<totals>`: totals. `<generation>|?<token>`: a fill lease; the process with that token is
 * reading the totals from ClickHouse. `!<tokens>`: a mark; the inserts with these tokens are running and will change the totals, so they
 * are read from ClickHouse and not stored. Totals and leases of another generation count as absent.
 */
const [STORED, LEASED] = ['=', '?'];

/**
 * Takes fill leases for keys that have neither totals nor a mark, also from another process. KEYS one for each entry; ARGV generation,
 * token, TTL of leases in ms. Returns for each key its totals, if they were stored meanwhile, or else false.
 */
const LEASE = `
local answer = {}
for i, key in ipairs(KEYS) do
  local entry = redis.call('GET', key)
  if entry and string.sub(entry, 1, #ARGV[1] + 2) == ARGV[1] .. '|${STORED}' then
    answer[i] = entry
  else
    answer[i] = false
    local isMarked = entry and string.sub(entry, 1, 1) == '!'
    if not isMarked then redis.call('SET', key, ARGV[1] .. '|${LEASED}' .. ARGV[2], 'PX', ARGV[3]) end
  end
end
return answer`;

/** Marks totals that an insert will change. KEYS one for each entry; ARGV token of the insert, TTL in ms. */
const MARK = `
local token = ARGV[1] .. ','
for _, key in ipairs(KEYS) do
  local tokens = string.match(redis.call('GET', key) or '', '^!(.*)$') or ''
  if not string.find(tokens, token, 1, true) then tokens = tokens .. token end
  redis.call('SET', key, '!' .. tokens, 'PX', ARGV[2])
end
return 1`;

/**
 * Evicts totals that an insert has changed, and removes its marks; marks of other inserts stay. KEYS one for each entry; ARGV its token.
 */
const EVICT = `
local token = ARGV[1] .. ','
for _, key in ipairs(KEYS) do
  local tokens = string.match(redis.call('GET', key) or '', '^!(.*)$') or ''
  local first, last = string.find(tokens, token, 1, true)
  if first then tokens = string.sub(tokens, 1, first - 1) .. string.sub(tokens, last + 1) end
  if tokens == '' then redis.call('UNLINK', key) else redis.call('SET', key, '!' .. tokens, 'KEEPTTL') end
end
return 1`;

/**
 * Stores totals under keys that still have the lease. KEYS one for each entry; ARGV generation, token of the lease, TTL in ms, then totals.
 */
const FILL = `
local lease = ARGV[1] .. '|${LEASED}' .. ARGV[2]
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == lease then
    redis.call('SET', key, ARGV[1] .. '|${STORED}' .. ARGV[i + 3], 'PX', ARGV[3])
  end
end
return 1`;

/** The totals in an entry; undefined when it has none of this generation. */
function totalsOf(entry: string | null | undefined, generation: string): string | undefined {
  const start = `${generation}|${STORED}`;
  return entry?.startsWith(start) === true ? entry.slice(start.length) : undefined;
}

/** Reads totals of one workspace from ClickHouse, as texts by id; ids without events are absent. */
export type ReadTexts = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/**
 * The totals of links and customers in Redis, for all processes. A process that inserts events marks the totals that the events change
 * before the insert, and evicts them after it. It acknowledges the events only after the eviction, so that after a kill the eviction is
 * repeated together with the insert. Until then the mark prevents that old totals are served or stored. A mark or an eviction also deletes
 * fill leases, so totals whose read began before it are not stored.
 *
 * An eviction may be lost, with a process or with the data of Redis. Then a new generation is begun, which evicts all totals. Only
 * processes that insert events begin generations. Without a generation no totals are stored, because writers of earlier releases evict
 * nothing.
 *
 * @param onNewGeneration called when all totals have been evicted
 */
export function createSharedTotals(
  redis: RedisConnections,
  memory: CacheMemory,
  logger: CatalogLogger,
  onNewGeneration: () => void,
) {
  const prefix = cachePrefix(redis.keyPrefix);
  const generationKey = `${prefix}totals-generation`;
  const keysOf = (workspaceId: string, ids: readonly string[]) =>
    ids.map((id) => `${prefix}{${workspaceId}}:totals:${id}`);
  const newToken = () => randomBytes(6).toString('base64url');

  let isClosed = false;
  /** Whether this process has evicted totals; only then does it begin new generations. */
  let evicts = false;
  /**
   * `losses`: how many times evictions may have been lost; it begins with 1 for those of earlier processes. `repaired`: how many of these
   * times were before the latest new generation.
   */
  let [losses, repaired] = [1, 0];
  let repairing: Promise<void> | undefined;

  /** Evicts all totals by beginning a new generation. */
  async function startGeneration(): Promise<void> {
    const upTo = losses;
    await redis.run((client) => client.set(generationKey, newToken()));
    repaired = Math.max(repaired, upTo);
    onNewGeneration();
  }

  /** Begins a new generation as soon as Redis answers, until no loss is left. */
  async function repair(): Promise<void> {
    while (!isClosed && repaired < losses) {
      await startGeneration().catch(() => delay(RETRY_MS, undefined, { ref: false }));
    }
    repairing = undefined;
  }

  function evictAllSoon(): void {
    losses += 1;
    repairing ??= repair();
  }

  /**
   * The command of MARK or EVICT. A full Redis refuses them; it still deletes keys, and stores no totals either, so the keys are deleted instead.
   */
  const scriptCall =
    (script: string, keys: readonly string[], ...args: readonly (string | number)[]) =>
    (client: Redis): Promise<unknown> =>
      client.eval(script, keys.length, ...keys, ...args).catch((err: unknown) => {
        if (err instanceof Error && err.name === 'ReplyError') return client.unlink(...keys);
        throw err;
      });

  /**
   * Reads totals from Redis, and takes a lease for the others.
   *
   * @returns the totals, and the function that stores others; undefined: do not store
   */
  async function take(workspaceId: string, ids: readonly string[]) {
    const found = new Map<string, string>();
    const collect = (some: readonly string[], entries: readonly (string | null)[], generation: string) => {
      for (const [index, id] of some.entries()) {
        const totals = totalsOf(entries[index], generation);
        if (totals !== undefined) found.set(id, totals);
      }
    };
    const texts = await redis.tryRead((client) => client.mget(generationKey, ...keysOf(workspaceId, ids)));
    const [generation, ...entries] = texts ?? [];
    // Without a generation there is no writer that evicts.
    if (typeof generation !== 'string') return { found, fill: undefined };
    collect(ids, entries, generation);
    const absent = ids.filter((id) => !found.has(id));
    const ttlMs = memory.optionalTtlMs();
    if (absent.length === 0 || ttlMs === undefined) return { found, fill: undefined };

    const token = newToken();
    const keys = keysOf(workspaceId, absent);
    const leased = await redis.tryRun(
      (client) => client.eval(LEASE, keys.length, ...keys, generation, token, FILL_LEASE_MS) as Promise<string[]>,
    );
    if (leased === undefined) return { found, fill: undefined };
    collect(absent, leased, generation);
    return {
      found,
      async fill(totals: ReadonlyMap<string, string>): Promise<void> {
        const keys = keysOf(workspaceId, [...totals.keys()]);
        const values = [generation, token, Math.min(ttlMs, TTL_MS_MAX), ...totals.values()];
        await redis.tryRun((client) => client.eval(FILL, keys.length, ...keys, ...values));
      },
    };
  }

  return {
    /**
     * Reads totals from Redis, and those that Redis lacks with `readTexts`. Ids without events are absent.
     *
     * @throws the error of `readTexts`
     */
    async read(
      workspaceId: string,
      ids: readonly string[],
      readTexts: ReadTexts,
    ): Promise<ReadonlyMap<string, string>> {
      const { found, fill } = await take(workspaceId, ids);
      const missing = ids.filter((id) => !found.has(id));
      if (missing.length > 0) {
        const read = await readTexts(missing);
        const texts = new Map(missing.map((id) => [id, read.get(id) ?? '']));
        void fill?.(texts);
        for (const [id, text] of texts) found.set(id, text);
      }
      return new Map([...found].filter(([, text]) => text !== ''));
    },

    /**
     * Marks the totals that an insert will change. Await it before each attempt of the insert. It never throws: if Redis is away, the
     * eviction after the insert is enough.
     *
     * @param token of the insert, the same in `evict`
     */
    async mark(token: string, affected: readonly AffectedTotals[]): Promise<void> {
      const keys = affected.flatMap(({ workspaceId, ids }) => keysOf(workspaceId, ids));
      if (keys.length === 0 || redis.isAway()) return;
      const mark = scriptCall(MARK, keys, token, MARK_MS);
      await (repairing === undefined ? redis.run(mark).catch(() => undefined) : redis.tryRun(mark));
    },

    /**
     * Evicts the totals that an insert has changed. Await it before the insert is acknowledged. If Redis is away, or its replicas do not
     * confirm, all totals are evicted once Redis answers and they confirm; the promise does not wait for that. It never throws.
     *
     * @param token of the insert, as in `mark`
     */
    async evict(token: string, affected: readonly AffectedTotals[]): Promise<void> {
      evicts = true;
      const keys = affected.flatMap(({ workspaceId, ids }) => keysOf(workspaceId, ids));
      const evictThese = scriptCall(EVICT, keys, token);
      if (repairing !== undefined) {
        // Each attempt with `run` would wait for Redis or its replicas. If this one fails, the eviction of all totals, which is due, includes these.
        if (keys.length > 0) await redis.tryRun(evictThese);
        return evictAllSoon();
      }
      try {
        if (keys.length > 0) await redis.run(evictThese);
        if (repairing !== undefined) return;
        if (repaired < losses) return await startGeneration();
        // There is no generation if Redis was emptied.
        const hasGeneration = await redis.run((client) => client.exists(generationKey));
        if (hasGeneration === 0) await redis.run((client) => client.set(generationKey, newToken(), 'NX'));
      } catch (err) {
        logger.warn({ err }, 'totals were not evicted from Redis; all of them will be when it answers');
        evictAllSoon();
      }
    },

    /** Evicts all totals. @throws ApiError 500 with `Retry-After` when Redis is away; they are evicted as soon as it answers */
    async evictAll(): Promise<void> {
      evicts = true;
      try {
        await startGeneration();
      } catch (err) {
        evictAllSoon();
        throw err;
      }
    },

    /** Call it when Redis may have lost evictions. */
    onGap(): void {
      if (evicts) evictAllSoon();
    },

    close(): void {
      isClosed = true;
    },
  };
}
export type SharedTotals = ReturnType<typeof createSharedTotals>;
