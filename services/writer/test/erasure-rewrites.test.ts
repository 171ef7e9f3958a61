import { createCatalog } from '@waymark/catalog';
import { createTestDatabase, startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

it('an erasure does not end if a queue shard is killed instead of rewriting its append-only file', async () => {
  const [database, first, second] = await Promise.all([createTestDatabase(), startRedis(), startRedis({ args: [] })]);
  const redis = new Redis(first.url);
  const away = new Redis(second.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false, retryStrategy: () => 50 });
  away.on('error', () => undefined);
  await waitFor(() => away.status === 'ready', { what: 'the second shard' });
  /** The server of the second shard is killed when it is to rewrite its file. */
  const shard = new Proxy(away, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...parameters: unknown[]) => unknown;
      return name === 'bgrewriteaof' ? () => second.kill9().then(bound) : bound;
    },
  });
  const errors: unknown[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: ({ err }: { err?: unknown }) => void errors.push(err) };
  const catalog = createCatalog({
    ...{ redis, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  const erasures = startErasures({
    ...{ catalog, redis, clickhouse: database.client, logger, lateRows: lateRowsOf(catalog), cluster: undefined },
    ...{ queueShards: [redis, shard], gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });
  try {
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
    const { id } = await catalog.erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'anonymise');
    const status = async () => (await catalog.erasures.require(workspace.id, id)).status;
    const untilKilled = async () => {
      await erasures.run();
      return errors.length > 0 || (await status()) === 'erased';
    };
    await waitFor(untilKilled, { what: 'the second shard to be killed' });
    expect(await status()).toBe('processing');
  } finally {
    await erasures.close();
    await catalog.close();
    for (const one of [redis, away]) one.disconnect();
    await Promise.all([first.stop(), second.stop(), database.drop()]);
  }
}, 120_000);
