import type { ClickHouseClient } from '@waymark/clickhouse';
import { infoField, memoryOf, type RedisMemory } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { StoreAnswer } from './store-watch.js';

/** Version, uptime and memory of Redis. Rejects when it does not answer, and while it loads its data. */
export async function checkRedis(
  redis: Redis,
): Promise<{ readonly answer: StoreAnswer; readonly memory: RedisMemory }> {
  const [server, used] = await Promise.all([redis.info('server'), redis.info('memory')]);
  const version = infoField(server, 'redis_version') ?? 'of unknown version';
  const uptime = infoField(server, 'uptime_in_seconds');
  const uptimeSeconds = uptime === undefined ? undefined : Number(uptime);
  return { answer: { uptimeSeconds, detail: `Redis ${version}` }, memory: memoryOf(used) };
}

/** A server with all sessions busy still answers pings. If it does not return its uptime in this time, the next poll reads it. */
const UPTIME_TIMEOUT_MS = 700;

/** Version and uptime of ClickHouse. Rejects when it does not answer a ping within `limitMs`. */
export async function checkClickHouse(clickhouse: ClickHouseClient, limitMs: number): Promise<StoreAnswer> {
  const uptime = clickhouse
    .query({
      query: 'SELECT uptime(), version()',
      format: 'JSONCompactEachRow',
      abort_signal: AbortSignal.timeout(UPTIME_TIMEOUT_MS),
    })
    .then((result) => result.json<[number, string]>())
    .catch(() => []);
  const limit = AbortSignal.timeout(limitMs);
  const ping = await clickhouse.ping({ select: false, abort_signal: limit });
  if (!ping.success) {
    throw new Error(
      limit.aborted ? `no answer within ${limitMs} ms` : ping.error.message || 'clickhouse does not answer',
    );
  }
  const [row] = await uptime;
  return { uptimeSeconds: row?.[0], detail: row === undefined ? 'ClickHouse is busy' : `ClickHouse ${row[1]}` };
}
