// Memory of every process while millions of clicks are recorded: `npm run bench -- memory [--clicks 5000000]`. Each click is of a new
// visitor, so that no cache entry is reused.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { closedLoop } from './lib/http-load.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const { values } = parseArgs({ options: { clicks: { type: 'string', default: '5000000' } } });
const CLICKS = Number(values.clicks);
const STEPS = 20;
const CONNECTIONS = 128;

/** Resident memory of a process in megabytes. */
function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

const stores = await startStores();
const { key } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const rows: (string | number)[][] = [];

async function clicksStored(): Promise<number> {
  const result = await stores.client.query({
    query: 'SELECT toUInt32(count()) AS clicks FROM click_events',
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ clicks: number }>();
  return row?.clicks ?? 0;
}

try {
  console.log(`\n${machineLine()}\n`);
  const perStep = Math.ceil(CLICKS / STEPS);
  for (let step = 0; step < STEPS; step++) {
    const { statuses, seconds } = await closedLoop({
      port: ingest.port,
      count: perStep,
      connections: CONNECTIONS,
      request: (index) => visitorRequest(BENCH_DOMAIN, key, step * perStep + index),
    });
    if (statuses['302'] !== perStep) throw new Error(JSON.stringify(statuses));
    const sent = (step + 1) * perStep;
    const row = [
      sent,
      Math.round(perStep / seconds),
      sent - (await clicksStored()),
      residentMb(ingest.pid),
      residentMb(writer.pid),
      residentMb(stores.redis.pid),
      residentMb(stores.clickhouse.pid),
    ];
    rows.push(row);
    console.error(row.join('  '));
  }
  printTable(['clicks', 'per second', 'queued', 'ingest, MB', 'writer, MB', 'Redis, MB', 'ClickHouse, MB'], rows);
} finally {
  await Promise.all([ingest.stop(), writer.stop()]);
  await stores.stop();
}
