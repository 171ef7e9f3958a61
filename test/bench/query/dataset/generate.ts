import { createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { createLogger } from '@waymark/http-kit';
import { Redis } from 'ioredis';
import { INSTANCE_KEY } from '../../lib/stores.js';
import { createBaseline, fillBaseline, mergeBaseline } from './baseline-tables.js';
import { insertClicks } from './generate-clicks.js';
import { insertCustomers, insertLeads, insertSales } from './generate-conversions.js';
import { generateLinks } from './generate-links.js';
import { type BenchWorkspace, DAY_MS, END_MS, linksOfRank, START_MS, type WorldSizes } from './world.js';

const CLICKS_PER_INSERT = 250_000;
const MONTH_MS = 31 * DAY_MS;

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

export function databaseOf({ clicks }: WorldSizes): string {
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

async function inMonths(
  what: string,
  progress: (line: string) => void,
  run: (fromMs: number, toMs: number) => Promise<void>,
) {
  for (let fromMs = START_MS; fromMs < END_MS; fromMs += MONTH_MS) {
    await run(fromMs, fromMs + MONTH_MS);
    progress(`${what}: ${Math.min(100, Math.round(((fromMs + MONTH_MS - START_MS) / (END_MS - START_MS)) * 100))} %`);
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

/** Generates a data set in a database of its own, and the baseline's tables from it. */
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
    if ((first / CLICKS_PER_INSERT) % 4 === 3) progress(`${database}: ${first + count} clicks`);
  }
  const run = (query: string) => client.command({ query }).then(() => undefined);
  await inMonths(`${database}: leads`, progress, (fromMs, toMs) => run(insertLeads(sizes, fromMs, toMs)));
  await inMonths(`${database}: sales`, progress, (fromMs, toMs) => run(insertSales(sizes, fromMs, toMs)));
  await run(insertCustomers(known.map(({ id }) => id)));
  await createBaseline(client, database);
  await inMonths(`${database}: baseline`, progress, (fromMs, toMs) => fillBaseline(client, database, fromMs, toMs));
  await mergeBaseline(client, database);
  await settleMerges(client, progress);
  await client.close();
  return { sizes, database, known };
}
