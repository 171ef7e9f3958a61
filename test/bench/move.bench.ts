// The speed of `npx waymark move`: all tables of one embedded ClickHouse copied into another, compared and given their views:
// `npm run bench -- move [--clicks 1500000]`. Both servers, this process and the disk are those of one machine.

import { parseArgs } from 'node:util';
import { createClickHouseClient, migrate, moveDatabase } from '@waymark/clickhouse';
import { startClickHouse } from '@waymark/test-kit';
import { measureDisk } from './capacity/disk.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';

const { values } = parseArgs({ options: { clicks: { type: 'string', default: '1500000' } } });
const DATABASE = 'waymark';
const TERABYTE = 1e12;

const [source, target] = [await startClickHouse(), await startClickHouse()];
const client = createClickHouseClient({ url: source.url, database: DATABASE, requestTimeoutMs: 3_600_000 });
const pids = { source: source.pid, target: target.pid, mover: process.pid };
const cpu = () => Object.values(pids).map(processCpuMicroseconds);

try {
  console.log(`\n${machineLine()}\n`);
  await migrate(client);
  await measureDisk(client, 1n, Number(values.clicks));
  const [onDisk] = await client.rows<[string]>({
    query: 'SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()',
  });

  let residentBytes = 0;
  const perTable = new Map<string, number>();
  const before = cpu();
  const startedMs = performance.now();
  let tableStartedMs = startedMs;
  const { tables } = await moveDatabase({
    source: { connection: { url: source.url, database: DATABASE } },
    target: { connection: { url: target.url, database: DATABASE } },
    onProgress({ table }) {
      residentBytes = Math.max(residentBytes, process.memoryUsage.rss());
      perTable.set(table, (perTable.get(table) ?? 0) + performance.now() - tableStartedMs);
      tableStartedMs = performance.now();
    },
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const used = cpu().map((microseconds, index) => microseconds - (before[index] ?? 0));

  const largest = tables.filter(({ rows }) => rows >= 50_000);
  printTable(
    ['table', 'rows', 'MB in memory', 's', 'rows/s', 'MB/s'],
    largest.map(({ table, rows, bytes }) => {
      const tableSeconds = (perTable.get(table) ?? 0) / 1000;
      return [
        table,
        rows,
        (bytes / 1e6).toFixed(0),
        tableSeconds.toFixed(1),
        (rows / tableSeconds).toFixed(0),
        (bytes / 1e6 / tableSeconds).toFixed(1),
      ];
    }),
  );
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const inMemory = tables.reduce((sum, table) => sum + table.bytes, 0);
  const stored = Number(onDisk?.[0]);
  const hoursOf = (bytes: number) => ((seconds * TERABYTE) / bytes / 3600).toFixed(1);
  console.log();
  printTable(
    ['all tables', 'MB on disk', 'MB in memory', 's', 'rows/s', 'MB/s on disk', 'MB/s in memory', 'mover, MB at most'],
    [
      [
        rows,
        (stored / 1e6).toFixed(0),
        (inMemory / 1e6).toFixed(0),
        seconds.toFixed(1),
        (rows / seconds).toFixed(0),
        (stored / 1e6 / seconds).toFixed(1),
        (inMemory / 1e6 / seconds).toFixed(1),
        (residentBytes / 1024 ** 2).toFixed(0),
      ],
    ],
  );
  console.log();
  printTable(
    ['CPU, µs a row', ...Object.keys(pids)],
    [['', ...used.map((microseconds) => (microseconds / rows).toFixed(1))]],
  );
  console.log(
    `\nExtrapolated: a terabyte on disk takes ${hoursOf(stored)} h, a terabyte in memory ${hoursOf(inMemory)} h\n`,
  );
} finally {
  await client.close();
  await Promise.all([source.stop(), target.stop()]);
}
