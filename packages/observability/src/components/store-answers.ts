import type { ClickHouseClient } from '@waymark/clickhouse';
import type { Redis } from 'ioredis';
import type { StoreAnswer } from './store-watch.js';

export interface RedisMemory {
  readonly usedBytes: number;
  /** 0 = no limit. */
  readonly limitBytes: number;
}

function infoNumber(info: string, name: string): number | undefined {
  const text = new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Version, uptime and memory of Redis. Rejects when it does not answer, and while it loads its data. */
export async function checkRedis(
  redis: Redis,
): Promise<{ readonly answer: StoreAnswer; readonly memory: RedisMemory }> {
  const [server, used] = await Promise.all([redis.info('server'), redis.info('memory')]);
  const version = /^redis_version:(\S+)/m.exec(server)?.[1] ?? 'of unknown version';
  const answer = { uptimeSeconds: infoNumber(server, 'uptime_in_seconds'), detail: `Redis ${version}` };
  return {
    answer,
    memory: { usedBytes: infoNumber(used, 'used_memory') ?? 0, limitBytes: infoNumber(used, 'maxmemory') ?? 0 },
  };
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
