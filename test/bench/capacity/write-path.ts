import { setTimeout as delay } from 'node:timers/promises';
import { QUEUE_KINDS, queueDepths } from '@waymark/event-queue';
import { Redis } from 'ioredis';
import { closedLoop } from '../lib/http-load.js';
import { jsonPost } from '../lib/json-post.js';
import { processCpuMicroseconds } from '../lib/process-cpu.js';
import { type BenchService, startService } from '../lib/service.js';
import { BENCH_DOMAIN, type BenchStores } from '../lib/stores.js';
import { visitorRequest } from '../lib/visitors.js';

/** Resources on the write path, per event of a kind. */
export interface PathUse {
  readonly kind: string;
  /** Redis bytes while the event is queued, including claims and the stored state of `/track`. */
  readonly queuedBytes: number;
  /** Redis bytes that remain afterwards, times the seconds until they expire: at one event per second, the bytes in use. */
  readonly keptByteSeconds: number;
  readonly keptBytes: number;
  /** Microseconds of CPU. */
  readonly ingest: number;
  readonly redisTaking: number;
  readonly writer: number;
  readonly redisWriting: number;
}

const CONNECTIONS = 64;

/** Measures clicks, leads and sales over HTTP; each kind is first queued without a writer, and then written. */
export async function measurePath(stores: BenchStores, key: string, token: string, events: number): Promise<PathUse[]> {
  const redis = new Redis(stores.redis.url);
  const info = async (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info())?.[1]);
  const redisPid = await info('process_id');
  const ingest = await startService('ingest', stores.environment);

  /** The sum over all keys that expire. */
  async function byteSeconds(): Promise<number> {
    let sum = 0;
    for await (const keys of redis.scanStream({ count: 1000 }) as AsyncIterable<string[]>) {
      const pipeline = redis.pipeline();
      for (const key of keys) pipeline.memory('USAGE', key).pttl(key);
      const answers = ((await pipeline.exec()) ?? []).map(([, value]) => Number(value));
      for (let at = 0; at < answers.length; at += 2)
        sum += (answers[at] ?? 0) * Math.max(0, (answers[at + 1] ?? 0) / 1000);
    }
    return sum;
  }

  async function drain(): Promise<{ readonly writer: number; readonly redis: number }> {
    const writer: BenchService = await startService('writer', stores.environment);
    const before = [processCpuMicroseconds(writer.pid), processCpuMicroseconds(redisPid)] as const;
    for (;;) {
      const depths = await queueDepths(redis);
      if (QUEUE_KINDS.every((kind) => depths[kind].waiting + depths[kind].active === 0)) break;
      await delay(100);
    }
    const used = {
      writer: processCpuMicroseconds(writer.pid) - before[0],
      redis: processCpuMicroseconds(redisPid) - before[1],
    };
    await writer.stop();
    return used;
  }

  async function stage(kind: string, port: number, status: string, request: (index: number) => string) {
    const memory = await info('used_memory');
    const expiring = await byteSeconds();
    const cpu = [processCpuMicroseconds(ingest.pid), processCpuMicroseconds(redisPid)] as const;
    const { statuses } = await closedLoop({ port, connections: CONNECTIONS, count: events, request });
    if (statuses[status] !== events) throw new Error(`${kind}: ${JSON.stringify(statuses)}`);
    const taken = [processCpuMicroseconds(ingest.pid) - cpu[0], processCpuMicroseconds(redisPid) - cpu[1]] as const;
    const queued = await info('used_memory');
    const written = await drain();
    const kept = await info('used_memory');
    return {
      kind,
      queuedBytes: (queued - memory) / events,
      keptByteSeconds: ((await byteSeconds()) - expiring) / events,
      keptBytes: (kept - memory) / events,
      ingest: taken[0] / events,
      redisTaking: taken[1] / events,
      writer: written.writer / events,
      redisWriting: written.redis / events,
    };
  }

  async function clickIds(): Promise<string[]> {
    const query = `SELECT click_id FROM click_events ORDER BY timestamp DESC LIMIT ${events}`;
    const result = await stores.client.query({ query, format: 'JSONCompactEachRow' });
    return (await result.json<[string]>()).map(([id]) => id);
  }

  try {
    // Connections and scripts are created once, and are not part of the cost of an event.
    await closedLoop({
      port: ingest.port,
      connections: CONNECTIONS,
      count: 500,
      request: (n) => visitorRequest(BENCH_DOMAIN, key, 1_000_000 + n),
    });
    await drain();
    const click = await stage('click', ingest.port, '302', (n) => visitorRequest(BENCH_DOMAIN, key, n));
    const ids = await clickIds();
    const lead = await stage('lead', ingest.apiPort, '200', (n) =>
      jsonPost(token, '/track/lead', {
        clickId: ids[n],
        eventName: 'Sign up',
        customerExternalId: `user-${n}`,
        customerName: 'Ada Lovelace',
        customerEmail: `user-${n}@example.com`,
        metadata: { plan: 'pro', seats: 5 },
      }),
    );
    const sale = await stage('sale', ingest.apiPort, '200', (n) =>
      jsonPost(token, '/track/sale', {
        customerExternalId: `user-${n}`,
        amount: 4900,
        currency: 'usd',
        invoiceId: `invoice-${n}`,
        metadata: { plan: 'pro' },
      }),
    );
    return [click, lead, sale];
  } finally {
    await ingest.stop();
    redis.disconnect();
  }
}
