import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CatalogLogger } from '../model/errors.js';
import type { CacheMemory } from './cache-memory.js';
import type { AffectedTotals } from './catalog-changes.js';
import type { RedisConnections } from './connections.js';

/** Bounds how long totals are outdated that were changed by hand in ClickHouse, or by a writer of a release that evicts none. */
const TTL_MS_MAX = 600_000;
/** Time to read totals from ClickHouse and store them; what is read later is not stored. */
const FILL_LEASE_MS = 5_000;
/** How long totals are not shared after the start of an insert whose eviction never comes. Longer than ClickHouse may take for an insert. */
const MARK_MS = 60_000;
/** Pause between attempts to make up for evictions that failed. */
const RETRY_MS = 1_000;

/**
 * Entries are `<generation>|=<totals>`, or `<generation>|?<token>` for a fill lease: the process with that token is reading the totals
 * from ClickHouse. Entries of another generation count as absent. `!<tokens>` is a mark of the inserts under way that change the totals: they
 * are read from ClickHouse, and not stored.
 */
const [STORED, LEASED] = ['=', '?'];

/**
 * Takes fill leases for keys without totals, also if another process has the lease. KEYS one for each entry; ARGV generation, token, TTL of
 * leases. Returns entries with totals that were stored meanwhile.
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

/** Marks totals as being changed by an insert. KEYS one for each entry; ARGV token of the insert, TTL. */
const MARK = `
local token = ARGV[1] .. ','
for _, key in ipairs(KEYS) do
  local tokens = string.match(redis.call('GET', key) or '', '^!(.*)$') or ''
  if not string.find(tokens, token, 1, true) then tokens = tokens .. token end
  redis.call('SET', key, '!' .. tokens, 'PX', ARGV[2])
end
return 1`;

/** Evicts totals that an insert has changed; marks of other inserts stay. KEYS one for each entry; ARGV token of the insert. */
const EVICT = `
local token = ARGV[1] .. ','
for _, key in ipairs(KEYS) do
  local tokens = string.match(redis.call('GET', key) or '', '^!(.*)$') or ''
  local first, last = string.find(tokens, token, 1, true)
  if first then tokens = string.sub(tokens, 1, first - 1) .. string.sub(tokens, last + 1) end
  if tokens == '' then redis.call('UNLINK', key) else redis.call('SET', key, '!' .. tokens, 'KEEPTTL') end
end
return 1`;

/** Stores totals under keys that still have the lease. KEYS one for each entry; ARGV generation, token of the lease, TTL, then totals. */
const FILL = `
local lease = ARGV[1] .. '|${LEASED}' .. ARGV[2]
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == lease then
    redis.call('SET', key, ARGV[1] .. '|${STORED}' .. ARGV[i + 3], 'PX', ARGV[3])
  end
end
return 1`;

/** The totals of an entry; undefined when it has none of this generation. */
function totalsOf(entry: string | null | undefined, generation: string): string | undefined {
  const start = `${generation}|${STORED}`;
  return entry?.startsWith(start) === true ? entry.slice(start.length) : undefined;
}

/** Reads totals from ClickHouse, as texts; ids without events are absent. */
export type ReadTexts = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/**
 * Totals of links and customers in Redis, for all processes. Whoever inserts events marks the totals that they change before the insert, and
 * evicts them after it, before the events count as written, so that an eviction is repeated with its insert after a kill; until then the
 * mark, which expires, keeps old totals from being served or stored. Totals whose read began before a mark or an eviction are not stored:
 * these delete the lease of that read.
 *
 * Evictions that may have been lost, with a process or a Redis, are made up for by a new generation, which evicts all totals. Only those who
 * insert begin generations: totals are not stored while there is none, because writers of earlier releases evict nothing.
 */
export function createSharedTotals(
  redis: RedisConnections,
  memory: CacheMemory,
  logger: CatalogLogger,
  onNewGeneration: () => void,
) {
  const prefix = `${redis.keyPrefix}waymark:cache:`;
  const generationKey = `${prefix}totals-generation`;
  const keysOf = (workspaceId: string, ids: readonly string[]) =>
    ids.map((id) => `${prefix}{${workspaceId}}:totals:${id}`);
  const newToken = () => randomBytes(6).toString('base64url');

  let isClosed = false;
  /** Set once this process has evicted totals: it makes up for evictions that are lost. */
  let evicts = false;
  /**
   * How many times evictions may have been lost, those of processes before this one included, and how many of these the last new
   * generation has made up for.
   */
  let [losses, repaired] = [1, 0];
  let repairing: Promise<void> | undefined;

  async function startGeneration(): Promise<void> {
    const upTo = losses;
    await redis.run((client) => client.set(generationKey, newToken()));
    repaired = Math.max(repaired, upTo);
    onNewGeneration();
  }

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

  /** Runs MARK or EVICT. A full Redis refuses to store marks, but deletes, and takes no totals either. */
  function runScript(script: string, keys: readonly string[], ...args: readonly (string | number)[]): Promise<unknown> {
    return redis.run((client) =>
      client.eval(script, keys.length, ...keys, ...args).catch((err: unknown) => {
        if (err instanceof Error && err.name === 'ReplyError') return client.unlink(...keys);
        throw err;
      }),
    );
  }

  /** Totals in Redis, and a lease for the others. */
  async function take(workspaceId: string, ids: readonly string[]) {
    const found = new Map<string, string>();
    const collect = (some: readonly string[], entries: readonly (string | null)[], generation: string) => {
      for (const [index, id] of some.entries()) {
        const totals = totalsOf(entries[index], generation);
        if (totals !== undefined) found.set(id, totals);
      }
    };
    const texts = await redis.tryRun((client) => client.mget(generationKey, ...keysOf(workspaceId, ids)));
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
    /** Reads totals from Redis, and what is not there with `readTexts`. Ids without events are absent. */
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
     * Marks the totals that an insert will change. Await it before each attempt. It never throws: when Redis is away, an eviction after the
     * insert makes up for it.
     *
     * @param token of the insert, the same in `evict`
     */
    async mark(token: string, affected: readonly AffectedTotals[]): Promise<void> {
      const keys = affected.flatMap(({ workspaceId, ids }) => keysOf(workspaceId, ids));
      if (keys.length === 0 || redis.isAway()) return;
      await runScript(MARK, keys, token, MARK_MS).catch(() => undefined);
    },

    /**
     * Evicts the totals that an insert has changed. Await it before the insert counts as done. When Redis is away, all totals are evicted
     * as soon as it answers; the promise does not wait for that.
     *
     * @param token of the insert, as in `mark`
     */
    async evict(token: string, affected: readonly AffectedTotals[]): Promise<void> {
      evicts = true;
      // Each attempt would wait for Redis, and the eviction of all totals includes these.
      if (repairing !== undefined && redis.isAway()) return evictAllSoon();
      const keys = affected.flatMap(({ workspaceId, ids }) => keysOf(workspaceId, ids));
      try {
        if (keys.length > 0) await runScript(EVICT, keys, token);
        if (repairing !== undefined) return;
        if (repaired < losses) return await startGeneration();
        // The generation is gone when somebody has emptied Redis.
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

    /** Redis may have lost evictions. */
    onGap(): void {
      if (evicts) evictAllSoon();
    },

    close(): void {
      isClosed = true;
    },
  };
}
export type SharedTotals = ReturnType<typeof createSharedTotals>;
