import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { createLogger } from '@waymark/http-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { warmCaches } from '../src/warm-up.js';
import { DOMAIN, startIngest, type TestIngest } from './test-ingest.js';

let ingest: TestIngest;
// Random keys have capitals, which names do not.
const VISITED = ['first', 'Second', 'third'];
const logger = createLogger({ name: 'test', level: 'silent' });

/** The catalog of a process that has just started. */
function coldCatalog(clickhouse = ingest.clickhouse): Catalog {
  return createCatalog({
    redis: ingest.redisClient,
    clickhouse,
    instanceKey: Buffer.alloc(32, 7),
    now: Date.now,
    logger,
    baseUrl: 'http://api.test',
    redirectWaitMs: 10_000,
  });
}

const clickhouseReads = (catalog: Catalog) =>
  Object.values(catalog.lookups()).reduce((sum, { clickhouse }) => sum + clickhouse, 0);

/** Deletes what Redis caches, as a new Redis has nothing. */
async function clearRedisCaches(): Promise<void> {
  const keys = await ingest.redisClient.keys('waymark:cache:*');
  expect(keys.length).toBeGreaterThan(0);
  await ingest.redisClient.del(keys);
}

beforeAll(async () => {
  ingest = await startIngest();
  for (const key of [...VISITED, 'unvisited']) await ingest.link({ key });
  for (const key of VISITED) await ingest.visit(`/${key}`);
  await ingest.rowsWhen(VISITED.length, 'link_totals');
});
afterAll(() => ingest.stop());

it('after the caches are warm, a visit of a link that visitors use reads nothing from ClickHouse', async () => {
  await clearRedisCaches();
  const catalog = coldCatalog();
  try {
    expect(await warmCaches({ catalog, logger })).toBe(VISITED.length);
    const reads = clickhouseReads(catalog);
    for (const key of VISITED) {
      const link = await catalog.links.findByAddress(DOMAIN, key.toLowerCase());
      expect(link?.key).toBe(key);
      await Promise.all([catalog.domains.findBySlug(DOMAIN), catalog.workspaces.forVisit(link?.workspaceId ?? '')]);
    }
    expect(clickhouseReads(catalog)).toBe(reads);
    await catalog.links.findByAddress(DOMAIN, 'unvisited');
    expect(clickhouseReads(catalog)).toBeGreaterThan(reads);
  } finally {
    await catalog.close();
  }
});

it('links without a visit within a day are not read', async () => {
  const catalog = coldCatalog();
  try {
    const now = () => Date.now() + 25 * 3_600_000;
    expect(await warmCaches({ catalog, logger, now })).toBe(0);
  } finally {
    await catalog.close();
  }
});

it.each([
  ['does not answer', true],
  ['is away', false],
])('warming ends within its time limit when ClickHouse %s', async (_state, accepts) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const port = accepts ? (silent.address() as AddressInfo).port : 1;
  const clickhouse = createClickHouseClient({ url: `http://127.0.0.1:${port}`, database: 'default' });
  const catalog = coldCatalog(clickhouse);
  const warnings: string[] = [];
  const warn = (_context: object, message?: string) => void warnings.push(String(message));
  try {
    const limitMs = accepts ? 300 : 60_000;
    expect(await warmCaches({ catalog, logger: { info: () => undefined, warn }, limitMs })).toBe(0);
    expect(warnings).toEqual([
      accepts
        ? 'filling the caches was ended at its time limit; other links are read when visited'
        : 'the caches could not be filled; links are read when visited',
    ]);
  } finally {
    silent.close();
    await catalog.close();
    await clickhouse.close();
  }
});

it('after its time limit, warming does not report that the caches are full', async () => {
  const lines: string[] = [];
  const log = (_context: object, message?: string) => void lines.push(String(message));
  let answer = (): void => undefined;
  const records = new Promise<Map<string, unknown>>((resolve) => {
    answer = () => resolve(new Map());
  });
  const links = { mostVisited: async () => [{ workspaceId: 'ws_1', id: 'link_1' }], getMany: () => records };
  const workspaces = { forVisit: async () => undefined };
  const catalog = { links, workspaces } as unknown as Catalog;
  await warmCaches({ catalog, logger: { info: log, warn: log }, limitMs: 20 });
  answer();
  await immediate();
  expect(lines).toEqual(['filling the caches was ended at its time limit; other links are read when visited']);
});
