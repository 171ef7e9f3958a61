import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { closedLoop } from '../lib/http-load.js';
import { startService } from '../lib/service.js';
import { BENCH_DOMAIN, type BenchStores } from '../lib/stores.js';
import { visitorRequest } from '../lib/visitors.js';

/** What an absence of Redis takes. */
export interface RedisAwayUse {
  /** Bytes of a click in the spool. */
  readonly spoolBytes: number;
  /** Bytes of the append-only file that Redis reads in a second when it starts. */
  readonly loadBytesPerSecond: number;
}

const CONNECTIONS = 256;
/** Visitors that no other stage of the bench uses. */
const FIRST_VISITOR = 3_000_000;

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

/** Sends clicks while Redis is stopped, then fills the queue without a writer, kills Redis and starts it again. */
export async function measureRedisAway(stores: BenchStores, key: string, clicks: number): Promise<RedisAwayUse> {
  const { redis, environment } = stores;
  const ingest = await startService('ingest', environment);
  const send = async (first: number, count: number) => {
    const request = (n: number) => visitorRequest(BENCH_DOMAIN, key, FIRST_VISITOR + first + n);
    const { statuses } = await closedLoop({ port: ingest.port, connections: CONNECTIONS, count, request });
    if (statuses['302'] !== count) throw new Error(`clicks: ${JSON.stringify(statuses)}`);
  };
  try {
    process.kill(redis.pid, 'SIGSTOP');
    const spooled = Math.ceil(clicks / 10);
    await send(0, spooled);
    const spoolBytes = bytesIn(join(ingest.dataDir, 'spool')) / spooled;
    process.kill(redis.pid, 'SIGCONT');

    await send(spooled, clicks);
    await redis.kill9();
    const bytes = bytesIn(join(redis.dataDir, 'appendonlydir'));
    const startedMs = performance.now();
    await redis.restart();
    return { spoolBytes, loadBytesPerSecond: (bytes / (performance.now() - startedMs)) * 1000 };
  } finally {
    process.kill(redis.pid, 'SIGCONT');
    await ingest.stop();
  }
}
