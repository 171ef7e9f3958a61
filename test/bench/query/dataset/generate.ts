import { createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { createLogger } from '@waymark/http-kit';
import { Redis } from 'ioredis';
import { INSTANCE_KEY } from '../../lib/stores.js';
import { createBaseline, fillBaseline, mergeEndedMonths } from './baseline-tables.js';
import { insertClicks } from './generate-clicks.js';
import { insertCustomers, insertLeads, insertSales } from './generate-conversions.js';
import { generateLinks } from './generate-links.js';
import { type BenchWorkspace, END_MS, linksOfRank, START_MS, type WorldSizes } from './world.js';

/** Small enough that each month has several parts for the background to merge, as it has with a writer. */
const CLICKS_PER_INSERT = 50_000;

/** As the migrations set it. */
const FORCED_AGE_SECONDS = 43_200;

/** A workspace with an API key, for requests over HTTP. */
export interface KnownWorkspace extends BenchWorkspace {
  readonly publicId: string;
  readonly token: string;
}

/** A generated database, and the database of the baseline. */
export interface World {
  readonly sizes: WorldSizes;
  readonly database: string;
  /** The busiest workspace, one with removed links, and a tiny one. */
  readonly known: readonly KnownWorkspace[];
}

/** Ranks of the known workspaces. The tiny one has four thousand of 30 million clicks. */
export const BIG_RANK = 1;
export const REMOVING_RANK = 2;
export const TINY_RANK = 500;

export function knownOf(world: World, rank: number): KnownWorkspace {
  const found = world.known.find((workspace) => workspace.rank === rank);
  if (found === undefined) throw new Error(`no known workspace of rank ${rank}`);
  return found;
}

export interface GenerateOptions {
  readonly clickhouseUrl: string;
  readonly redisUrl: string;
  readonly sizes: WorldSizes;
  readonly progress: (line: string) => void;
}

function databaseOf({ clicks }: WorldSizes): string {
  return `bench_${clicks}`;
}

export function benchClient(url: string, database: string): ClickHouseClient {
  return createClickHouseClient({
    url,
    database,
    requestTimeoutMs: 3_600_000,
    // Otherwise repeated runs would be answered from the cache of query conditions, for both systems.
    settings: { use_query_condition_cache: 0 },
  });
}

/** Creates the workspaces with keys in the catalog; of all others there are only events and links. */
async function createKnown(client: ClickHouseClient, { redisUrl, sizes }: GenerateOptions): Promise<KnownWorkspace[]> {
  const redis = new Redis(redisUrl);
  const logger = createLogger({ name: 'bench', level: 'silent' });
  const instanceKey = Buffer.from(INSTANCE_KEY, 'hex');
  const catalog = createCatalog({ redis, clickhouse: client, instanceKey, now: Date.now, logger, baseUrl: 'http://x' });
  const known: KnownWorkspace[] = [];
  for (const rank of [BIG_RANK, REMOVING_RANK, TINY_RANK]) {
    const { workspace, apiKey } = await catalog.workspaces.create({
      name: `Shop ${rank}`,
      slug: `shop-${sizes.clicks}-${rank}`,
      plan: 'enterprise',
      domain: `go.shop${rank}.example`,
    });
    await catalog.workspaces.update(workspace.id, { analyticsPerSecond: 1_000_000, requestsPerMinute: 1_000_000 });
    const id = BigInt(parseResourceId('workspace', workspace.id) ?? 0);
    known.push({ rank, id, links: linksOfRank(rank, sizes), publicId: workspace.id, token: apiKey.token });
  }
  await catalog.close();
  redis.disconnect();
  return known;
}

/** Runs the inserts of a table in the order of time, as many of them as there were of clicks, so that both layouts get alike parts. */
async function inOrderOfTime(
  what: string,
  { sizes, progress }: GenerateOptions,
  run: (fromMs: number, toMs: number) => Promise<void>,
) {
  const inserts = Math.ceil(sizes.clicks / CLICKS_PER_INSERT);
  const timeOf = (insert: number) => START_MS + Math.round(((END_MS + 1 - START_MS) * insert) / inserts);
  for (let insert = 0; insert < inserts; insert++) {
    await run(timeOf(insert), timeOf(insert + 1));
    if (insert % 20 === 19) progress(`${what}: ${Math.round((100 * (insert + 1)) / inserts)} %`);
  }
}

/** Waits until no merge is in progress, so that all runs read the same parts. */
async function settleMerges(client: ClickHouseClient, progress: (line: string) => void): Promise<void> {
  for (;;) {
    const result = await client.query({ query: 'SELECT count() FROM system.merges', format: 'JSONCompactEachRow' });
    const [row] = await result.json<[string]>();
    if (Number(row?.[0]) === 0) return;
    progress(`merges under way: ${row?.[0]}`);
    await new Promise((resolve) => setTimeout(resolve, 5000));
  }
}

/** Tables whose old parts the background merges into one: those of the migration that says so. */
async function tablesMergedByAge(client: ClickHouseClient): Promise<string[]> {
  const result = await client.query({
    query: `SELECT name FROM system.tables
WHERE database = currentDatabase() AND create_table_query LIKE '%min_age_to_force_merge_seconds%'`,
    format: 'JSONCompactEachRow',
  });
  return (await result.json<[string]>()).map(([name]) => name);
}

/**
 * Lets the time pass that a world needs to come to rest. Ours: whatever is older than some hours is merged, as the settings of the
 * tables say. The baseline, which has no such settings: months that have ended are one part each, as the background leaves parts
 * of their size after nine days; the current month stays as it is.
 */
export async function letRest(
  clickhouseUrl: string,
  { database }: World,
  progress: (line: string) => void,
): Promise<void> {
  const client = benchClient(clickhouseUrl, database);
  await migrate(client);
  const merged = await tablesMergedByAge(client);
  for (const table of merged)
    await client.command({ query: `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = 1` });
  for (;;) {
    const result = await client.query({
      query: `SELECT count() FROM (SELECT 1 FROM system.parts WHERE active AND database = currentDatabase()
  AND table IN ({merged:Array(String)}) GROUP BY table, partition HAVING count() > 1)`,
      query_params: { merged },
      format: 'JSONCompactEachRow',
    });
    const [row] = await result.json<[string]>();
    if (Number(row?.[0]) === 0) break;
    progress(`partitions of several parts: ${row?.[0]}`);
    await new Promise((resolve) => setTimeout(resolve, 5000));
  }
  for (const table of merged) {
    await client.command({
      query: `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = ${FORCED_AGE_SECONDS}`,
    });
  }
  await mergeEndedMonths(client, database);
  await client.close();
}

/** Generates a world into its own database, and the baseline's tables from it. */
export async function generateWorld(options: GenerateOptions): Promise<World> {
  const { clickhouseUrl, sizes, progress } = options;
  const database = databaseOf(sizes);
  const admin = benchClient(clickhouseUrl, 'default');
  await admin.command({ query: `DROP DATABASE IF EXISTS ${database} SYNC` });
  await admin.command({ query: `CREATE DATABASE ${database}` });
  await admin.close();

  const client = benchClient(clickhouseUrl, database);
  await migrate(client);
  const known = await createKnown(client, options);
  const workspaces = Array.from({ length: sizes.workspaces }, (_, index): BenchWorkspace => {
    const rank = index + 1;
    const id = known.find((workspace) => workspace.rank === rank)?.id ?? BigInt(rank);
    return { rank, id, links: linksOfRank(rank, sizes) };
  });

  progress(`${database}: links`);
  await generateLinks(client, sizes, workspaces);
  for (let first = 0; first < sizes.clicks; first += CLICKS_PER_INSERT) {
    const count = Math.min(CLICKS_PER_INSERT, sizes.clicks - first);
    await client.command({ query: insertClicks(sizes, workspaces, first, count) });
    if ((first / CLICKS_PER_INSERT) % 20 === 19) progress(`${database}: ${first + count} clicks`);
  }
  const run = (query: string) => client.command({ query }).then(() => undefined);
  await inOrderOfTime(`${database}: leads`, options, (fromMs, toMs) => run(insertLeads(sizes, fromMs, toMs)));
  await inOrderOfTime(`${database}: sales`, options, (fromMs, toMs) => run(insertSales(sizes, fromMs, toMs)));
  await run(insertCustomers(known.map(({ id }) => id)));
  await createBaseline(client, database);
  await inOrderOfTime(`${database}: baseline`, options, (fromMs, toMs) => fillBaseline(client, database, fromMs, toMs));
  await settleMerges(client, progress);
  await client.close();
  return { sizes, database, known };
}
