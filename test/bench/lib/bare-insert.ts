import { createClickHouseClient } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventRow } from '@waymark/event-format';
import { benchClick } from './bench-clicks.js';

// The baseline of the writer: a loop of `client.insert` with 20,000 rows each, without a queue or claims.

const [url = '', database = '', count = '0', firstIndex = '0'] = process.argv.slice(2);
const INSERT_ROWS = 20_000;
const client = createClickHouseClient({ url, database, requestTimeoutMs: 120_000 });
const [first, ...others] = EVENT_TABLES.click.columns[1];
const inserts: EventRow[][] = [];
for (let start = 0; start < Number(count); start += INSERT_ROWS) {
  inserts.push(Array.from({ length: INSERT_ROWS }, (_, index) => benchClick(Number(firstIndex) + start + index)));
}
const before = process.cpuUsage();
for (const values of inserts) {
  await client.insert({
    table: EVENT_TABLES.click.table,
    columns: [first, ...others],
    values,
    format: 'JSONCompactEachRow',
  });
}
const used = process.cpuUsage(before);
process.send?.({ microsecondsPerRow: (used.user + used.system) / Number(count) });
await client.close();
