import type { ClickHouseClient } from '@waymark/clickhouse';
import { insertClicks } from '../query/dataset/generate-clicks.js';
import { insertLeads, insertSales } from '../query/dataset/generate-conversions.js';
import { generateLinks } from '../query/dataset/generate-links.js';
import { type BenchWorkspace, END_MS, linksOfRank, START_MS, sizesFor } from '../query/dataset/world.js';

/** Bytes on disk per event of a kind after all merges: its own row, and its share of each table that a view fills. */
export interface DiskUse {
  readonly kind: string;
  readonly events: number;
  readonly row: number;
  readonly views: number;
}

const WORKSPACES = 200;
const LEAD_SHARE = 5;
const SALE_SHARE = 10;

async function bytesByTable(client: ClickHouseClient): Promise<Map<string, number>> {
  const tables = await client.query({
    query: "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'",
    format: 'JSONCompactEachRow',
  });
  for (const [name] of await tables.json<[string]>()) await client.command({ query: `OPTIMIZE TABLE ${name} FINAL` });
  const sizes = await client.query({
    query: `SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table`,
    format: 'JSONCompactEachRow',
  });
  return new Map((await sizes.json<[string, string]>()).map(([table, bytes]) => [table, Number(bytes)]));
}

/** Fills the tables with eighteen months of events, `clicks` of them clicks, and measures them after each kind. */
export async function measureDisk(client: ClickHouseClient, known: bigint, clicks: number): Promise<DiskUse[]> {
  const sizes = {
    ...sizesFor(clicks, 1),
    workspaces: WORKSPACES,
    leads: clicks / LEAD_SHARE,
    sales: clicks / SALE_SHARE,
  };
  const workspaces = Array.from({ length: WORKSPACES }, (_, index): BenchWorkspace => {
    const rank = index + 1;
    return { rank, id: rank === 1 ? known : BigInt(rank), links: linksOfRank(rank, sizes) };
  });
  await generateLinks(client, sizes, workspaces);

  const used: DiskUse[] = [];
  const count = async (table: string) => {
    const counted = await client.query({ query: `SELECT count() FROM ${table}`, format: 'JSONCompactEachRow' });
    return Number((await counted.json<[string]>())[0]?.[0]);
  };
  const stage = async (kind: string, table: string, query: string) => {
    const [before, countBefore] = [await bytesByTable(client), await count(table)];
    await client.command({ query });
    const after = await bytesByTable(client);
    const events = (await count(table)) - countBefore;
    const grown = [...after].map(([name, bytes]) => [name, bytes - (before.get(name) ?? 0)] as const);
    const row = grown.find(([name]) => name === table)?.[1] ?? 0;
    const all = grown.filter(([name]) => !name.startsWith('ops_')).reduce((sum, [, bytes]) => sum + bytes, 0);
    used.push({ kind, events, row: row / events, views: (all - row) / events });
  };
  await stage('click', 'click_events', insertClicks(sizes, workspaces, 0, clicks));
  await stage('lead', 'lead_events', insertLeads(sizes, START_MS, END_MS));
  await stage('sale', 'sale_events', insertSales(sizes, START_MS, END_MS));
  return used;
}
