import { createClickHouseClient, migrate, insertLines, insertRows, EVENT_TABLES } from '@waymark/clickhouse';
import { startClickHouse, aClick } from '@waymark/test-kit';
import { createEventId } from '@waymark/contract';
const ch = await startClickHouse();
const admin = createClickHouseClient({ url: ch.url, database: 'default' });
await admin.command({ query: 'CREATE DATABASE t' });
const c = createClickHouseClient({ url: ch.url, database: 't' });
await migrate(c);
const { table, columns } = EVENT_TABLES.click;
const rows = Array.from({ length: 20000 }, (_, i) => { const ms = Date.now() - i; const id = createEventId(ms); return aClick({ clickId: id, timestampMs: ms, userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36' }); });
const lines = rows.map(r => JSON.stringify(r)).join('\n');
console.log('bytes/row', lines.length / rows.length);
for (let i = 0; i < 3; i++) for (const [name, fn] of [['rows', () => insertRows(c, { table, columns: columns[1], rows, deduplicationToken: 'a' + i + 'r' })], ['lines', () => insertLines(c, { table, columns: columns[1], lines, deduplicationToken: 'b' + i })], ['again', () => insertLines(c, { table, columns: columns[1], lines, deduplicationToken: 'b' + i })]] as const) {
  const u = process.cpuUsage(); const t = performance.now(); await fn(); const d = process.cpuUsage(u);
  console.log(name, 'ms', (performance.now() - t).toFixed(0), 'cpu us/row', ((d.user + d.system) / rows.length).toFixed(2));
}
console.log(await (await c.query({ query: 'SELECT count() c, uniqExact(click_id) u, (SELECT sum(clicks) FROM link_totals) l, (SELECT sum(clicks) FROM workspace_slots) s FROM click_events', format: 'JSONEachRow' })).json());
await c.close(); await admin.close(); await ch.stop();
