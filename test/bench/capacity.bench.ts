// The resources of an event: bytes on disk by kind, Redis bytes while queued and afterwards, CPU of every process involved. The results
// are the constants of `npx waymark capacity` (services/cli/src/capacity/constants.ts) and of docs/capacity.md. With `--record` they are written to
// test/bench/capacity/recorded.json, with which services/cli/test/capacity.test.ts compares the constants.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseResourceId } from '@waymark/contract';
import { measureDisk } from './capacity/disk.js';
import { measureRedisAway } from './capacity/redis-away.js';
import { measureInserts, measureQueries } from './capacity/store-cpu.js';
import { measurePath } from './capacity/write-path.js';
import { machineLine, printTable } from './lib/report.js';
import { createBenchLink, startStores, withCatalog } from './lib/stores.js';

const { values } = parseArgs({
  options: {
    clicks: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20000' },
    requests: { type: 'string', default: '200' },
    queued: { type: 'string', default: '100000' },
    record: { type: 'boolean', default: false },
  },
});
const whole = (value: number) => value.toFixed(0);

const stores = await startStores();
try {
  console.log(`\n${machineLine()}\n`);
  const { workspaceId, key, token } = await createBenchLink(stores);
  await withCatalog(stores, (catalog) => catalog.workspaces.update(workspaceId, { analyticsPerSecond: 1_000_000 }));
  const known = BigInt(parseResourceId('workspace', workspaceId) ?? 0);

  const path = await measurePath(stores, key, token, Number(values.events));
  printTable(
    [
      'per event',
      'Redis bytes queued',
      'kept',
      'kept × s',
      'µs ingest',
      'µs Redis, taking',
      'µs writer',
      'µs Redis, writing',
    ],
    path.map((use) => [
      use.kind,
      ...[
        use.queuedBytes,
        use.keptBytes,
        use.keptByteSeconds,
        use.ingest,
        use.redisTaking,
        use.writer,
        use.redisWriting,
      ].map(whole),
    ]),
  );
  const away = await measureRedisAway(stores, key, Number(values.queued));
  console.log(
    `\nwithout Redis: ${whole(away.spoolBytes)} bytes of spool a click; it loads ${whole(away.loadBytesPerSecond / 1e6)} MB a second`,
  );
  const inserts = await measureInserts(stores);
  console.log(`\nClickHouse, µs: an insert ${whole(inserts.perInsert)}, a row ${inserts.perRow.toFixed(1)}\n`);

  const disk = await measureDisk(stores.client, known, Number(values.clicks));
  printTable(
    ['bytes on disk', 'events', 'row', 'views'],
    disk.map(({ kind, events, row, views }) => [kind, events, whole(row), whole(views)]),
  );
  const queries = await measureQueries(stores, token, Number(values.requests));
  console.log();
  printTable(
    ['µs per request', 'query service', 'ClickHouse'],
    Object.entries(queries).map(([name, { service, store }]) => [name, whole(service), whole(store)]),
  );
  if (values.record) {
    const rounded = (_name: string, value: unknown) => (typeof value === 'number' ? Math.round(value) : value);
    const recorded = {
      date: new Date().toISOString().slice(0, 10),
      machine: machineLine(),
      path,
      away,
      inserts,
      disk,
      queries,
    };
    writeFileSync(join(import.meta.dirname, 'capacity/recorded.json'), `${JSON.stringify(recorded, rounded, 2)}\n`);
  }
} finally {
  await stores.stop();
}
