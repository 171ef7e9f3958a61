// The cost of REDIS_WAIT_REPLICAS: sales and clicks that a producer queues in a Redis with one replica, without and with waiting
// for it. Two producers of one process in turns, on the same Redis, whose queue is emptied after each round.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEventProducer, type EventProducer } from '@waymark/event-queue';
import { aSale, startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { benchClick } from './lib/bench-clicks.js';
import { machineLine, printTable } from './lib/report.js';
import { median, percentile } from './lib/statistics.js';

const ROUNDS = 9;
const ALONE = 300;
const TOGETHER = 6_000;
const CONCURRENCY = 64;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] });
const redis = new Redis(master.url);
await waitFor(async () => (await redis.info('replication')).includes('state=online'), { what: 'the replica' });

let visitors = 0;
const EVENTS: Readonly<Record<string, (producer: EventProducer) => Promise<unknown>>> = {
  sales: (producer) => producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] }),
  clicks: (producer) => {
    const row = benchClick(visitors++);
    return producer.recordClick({
      claim: `c:bench:${visitors}`,
      clickId: String(row[2]),
      rowText: JSON.stringify(row),
    });
  },
};

interface Figures {
  readonly latenciesMs: number[];
  readonly perSecond: number[];
}

/** Events one after another, then many at a time. */
async function measure(record: () => Promise<unknown>, { latenciesMs, perSecond }: Figures): Promise<void> {
  for (let count = 0; count < ALONE; count++) {
    const startedMs = performance.now();
    await record();
    latenciesMs.push(performance.now() - startedMs);
  }
  let left = TOGETHER;
  const startedMs = performance.now();
  const work = async () => {
    while (left-- > 0) await record();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  perSecond.push(TOGETHER / ((performance.now() - startedMs) / 1000));
  await redis.flushall();
}

const directory = mkdtempSync(join(tmpdir(), 'waymark-bench-replicas-'));
const producers = [0, 1].map((waitReplicas) =>
  createEventProducer({
    ...{ redisUrl: master.url, waitReplicas, spoolDirectory: join(directory, String(waitReplicas)), logger: silent },
    // Clicks must not go to the spool here.
    clickDeadlineMs: 10_000,
  }),
);
try {
  for (const producer of producers) {
    await waitFor(() => producer.ping().then(() => true), { what: 'the connection of a producer' });
  }
  console.log(`\n${machineLine()}\n`);
  const rows: string[][] = [];
  for (const [name, record] of Object.entries(EVENTS)) {
    const figures: Figures[] = producers.map(() => ({ latenciesMs: [], perSecond: [] }));
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, producer] of producers.entries()) {
        // The first round warms up.
        const into = round === 0 ? { latenciesMs: [], perSecond: [] } : figures[index];
        if (into !== undefined) await measure(() => record(producer), into);
      }
    }
    const [without, confirmed] = figures.map(({ latenciesMs, perSecond }) => ({
      p50: percentile(latenciesMs, 0.5),
      p99: percentile(latenciesMs, 0.99),
      perSecond: median(perSecond),
    }));
    if (without === undefined || confirmed === undefined) throw new Error('no figures');
    rows.push([
      name,
      ...[without, confirmed].map(({ p50, p99 }) => `${p50.toFixed(2)}; ${p99.toFixed(1)}`),
      (confirmed.p50 / without.p50).toFixed(2),
      ...[without, confirmed].map(({ perSecond }) => perSecond.toFixed(0)),
      (confirmed.perSecond / without.perSecond).toFixed(2),
    ]);
  }
  const [alone, together] = ['one at a time, p50; p99 in ms', `${CONCURRENCY} at a time, events a second`];
  const columns = (what: string) => [`${what}: without`, 'with one replica', 'ratio'];
  printTable(['', ...columns(alone ?? ''), ...columns(together ?? '')], rows);
} finally {
  for (const producer of producers) await producer.close();
  redis.disconnect();
  await Promise.all([replica.stop(), master.stop()]);
  rmSync(directory, { recursive: true, force: true });
}
