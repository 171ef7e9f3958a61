// The writer emptying a full queue, compared with a bare loop of 20,000-row inserts of the same rows: CPU per row of both processes,
// measured alternately on one ClickHouse.

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createEventProducer } from '@waymark/event-queue';
import { benchClick } from './lib/bench-clicks.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { median } from './lib/statistics.js';
import { startStores } from './lib/stores.js';

const ROUNDS = 5;
const ROWS = 200_000;
/** Concurrent clicks, as from this many visitors: enough for full batches. */
const VISITORS = 1000;
const SILENT = { info() {}, warn() {}, error() {}, debug() {} };

const stores = await startStores();
const spool = mkdtempSync(join(tmpdir(), 'waymark-bench-spool-'));
let written = 0;

async function fillQueue(): Promise<void> {
  const producer = createEventProducer({ redisUrl: stores.redis.url, spoolDirectory: spool, logger: SILENT });
  let next = 0;
  await Promise.all(
    Array.from({ length: VISITORS }, async () => {
      while (next < ROWS) {
        const index = written + next++;
        const row = benchClick(index);
        await producer.recordClick({ claim: `c:${index}`, clickId: String(row[2]), rowText: JSON.stringify(row) });
      }
    }),
  );
  await producer.close();
}

async function clickCount(): Promise<number> {
  const result = await stores.client.query({ query: 'SELECT count() FROM click_events', format: 'JSONCompactEachRow' });
  const [row] = await result.json<[string]>();
  return Number(row?.[0]);
}

async function drain(): Promise<number> {
  await fillQueue();
  const writer = await startService('writer', stores.environment);
  const before = processCpuMicroseconds(writer.pid);
  while ((await clickCount()) < written + ROWS) await delay(200);
  const used = processCpuMicroseconds(writer.pid) - before;
  written += ROWS;
  await writer.stop();
  return used / ROWS;
}

async function bareLoop(): Promise<number> {
  const child = fork(
    join(import.meta.dirname, 'lib/bare-insert.ts'),
    [stores.clickhouse.url, 'waymark', String(ROWS), String(written)],
    { execArgv: ['--import', 'tsx'] },
  );
  const answer = await new Promise<{ microsecondsPerRow: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { microsecondsPerRow: number }));
    child.once('exit', (code) => reject(new Error(`the bare loop ended with ${code}`)));
  });
  written += ROWS;
  return answer.microsecondsPerRow;
}

try {
  console.log(`\n${machineLine()}\n`);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(await bareLoop());
    ours.push(await drain());
  }
  printTable(
    ['CPU per row, µs, median', 'bare insert loop', 'writer', 'bare ÷ writer'],
    [
      [
        `${ROWS} clicks`,
        median(theirs).toFixed(2),
        median(ours).toFixed(2),
        (median(theirs) / median(ours)).toFixed(2),
      ],
    ],
  );
} finally {
  await stores.stop();
  rmSync(spool, { recursive: true, force: true });
}
