import type { ClickHouseClient } from '@waymark/clickhouse';
import type { Redis } from 'ioredis';
import type { StoreAnswer } from './store-watch.js';

export interface RedisMemory {
  readonly usedBytes: number;
  /** 0 = no limit. */
  readonly limitBytes: number;
}

function figure(info: string, name: string): number | undefined {
  const text = new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** What Redis says of itself. Rejects when it does not answer, and while it still loads its data. */
export async function askRedis(redis: Redis): Promise<{ readonly answer: StoreAnswer; readonly memory: RedisMemory }> {
  const [server, used] = await Promise.all([redis.info('server'), redis.info('memory')]);
  const version = /^redis_version:(\S+)/m.exec(server)?.[1] ?? 'of unknown version';
  const answer = { uptimeSeconds: figure(server, 'uptime_in_seconds'), detail: `Redis ${version}` };
  return {
    answer,
    memory: { usedBytes: figure(used, 'used_memory') ?? 0, limitBytes: figure(used, 'maxmemory') ?? 0 },
  };
}

/** A server whose sessions are all busy answers pings all the same; since when it runs is asked again two seconds later. */
const UPTIME_MS = 700;

/** What ClickHouse says of itself. Rejects when it does not answer a ping. @param limitMs after which nobody waits any more */
export async function askClickHouse(clickhouse: ClickHouseClient, limitMs: number): Promise<StoreAnswer> {
  const uptime = clickhouse
    .query({
      query: 'SELECT uptime(), version()',
      format: 'JSONCompactEachRow',
      abort_signal: AbortSignal.timeout(UPTIME_MS),
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
