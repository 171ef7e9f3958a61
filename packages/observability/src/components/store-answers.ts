import type { ClickHouseClient } from '@waymark/clickhouse';
import { infoField, memoryOf, type RedisMemory } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { StoreAnswer } from './store-watch.js';

const NOTHING_NEW: StoreAnswer = { uptimeSeconds: undefined, detail: undefined };

/** Reads the memory of Redis, and its version and uptime if `withUptime`. Rejects when Redis does not answer, or is loading its data. */
export async function checkRedis(
  redis: Redis,
  withUptime: boolean,
): Promise<{ readonly answer: StoreAnswer; readonly memory: RedisMemory }> {
  const [used, server] = await Promise.all([redis.info('memory'), withUptime ? redis.info('server') : undefined]);
  if (server === undefined) return { answer: NOTHING_NEW, memory: memoryOf(used) };
  const version = infoField(server, 'redis_version') ?? 'of unknown version';
  const uptime = infoField(server, 'uptime_in_seconds');
  const uptimeSeconds = uptime === undefined ? undefined : Number(uptime);
  return { answer: { uptimeSeconds, detail: `Redis ${version}` }, memory: memoryOf(used) };
}

/** Time limit for the uptime, which the next poll reads again. A server with all sessions busy answers only pings. */
const UPTIME_TIMEOUT_MS = 700;

function readUptime(clickhouse: ClickHouseClient): Promise<[number, string][]> {
  return clickhouse
    .query({
      query: 'SELECT uptime(), version()',
      format: 'JSONCompactEachRow',
      abort_signal: AbortSignal.timeout(UPTIME_TIMEOUT_MS),
    })
    .then((result) => result.json<[number, string]>())
    .catch(() => []);
}

/** Pings ClickHouse, and reads its version and uptime if `withUptime`. Rejects when it does not answer the ping within `limitMs`. */
export async function checkClickHouse(
  clickhouse: ClickHouseClient,
  limitMs: number,
  withUptime: boolean,
): Promise<StoreAnswer> {
  const uptime = withUptime ? readUptime(clickhouse) : undefined;
  const limit = AbortSignal.timeout(limitMs);
  const ping = await clickhouse.ping({ select: false, abort_signal: limit });
  if (!ping.success) {
    throw new Error(
      limit.aborted ? `no answer within ${limitMs} ms` : ping.error.message || 'clickhouse does not answer',
    );
  }
  if (uptime === undefined) return NOTHING_NEW;
  const [row] = await uptime;
  return { uptimeSeconds: row?.[0], detail: row === undefined ? 'ClickHouse is busy' : `ClickHouse ${row[1]}` };
}
