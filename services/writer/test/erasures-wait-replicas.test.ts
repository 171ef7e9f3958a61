import { createCatalog } from '@waymark/catalog';
import { QUEUE_PREFIX } from '@waymark/event-queue';
import { createTestDatabase, startRedis, untilConfirming } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

it('an erasure does not go on while no replica has what it has removed from Redis', async () => {
  const args = ['--repl-diskless-sync-delay', '0'];
  const [database, master, replica] = await Promise.all([
    createTestDatabase(),
    startRedis({ args }),
    startRedis({ args }),
  ]);
  const [redis, follower] = [new Redis(master.url), new Redis(replica.url)];
  const follow = async () => {
    await follower.replicaof('127.0.0.1', String(master.port));
    await untilConfirming(redis);
  };
  const errors: unknown[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: ({ err }: { err?: unknown }) => void errors.push(err) };
  const catalog = createCatalog({
    ...{ redis, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  /** The replica stops following the master just before claims are looked for, the last thing that is removed. */
  const shard = new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...parameters: unknown[]) => unknown;
      if (name !== 'scan') return bound;
      return async (...parameters: unknown[]) => {
        await follower.replicaof('NO', 'ONE');
        return bound(...parameters);
      };
    },
  });
  const erasures = startErasures({
    ...{ catalog, redis, clickhouse: database.client, logger, lateRows: lateRowsOf(catalog), cluster: undefined },
    ...{ queueShards: [shard], waitReplicas: 1, gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });
  try {
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
    const { id: customerId } = await catalog.customers.create(workspace.id, { externalId: 'ann', country: 'US' });
    const subject = { externalId: 'ann', customerIds: [customerId] };
    await catalog.erasures.accept(workspace.id, subject, 'anonymise');
    const claim = `${QUEUE_PREFIX}:claim:customer:of-ann`;
    await redis.set(claim, `f:{"id":"${customerId}"}`);
    await follow();

    await erasures.run();

    expect([await redis.exists(claim), await follower.exists(claim)]).toEqual([0, 1]);
    expect(errors).toEqual([expect.objectContaining({ name: 'NotReplicatedError' })]);
    const begun = await database.client.rows({
      query: `SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND position(command, 'erasure ') > 0`,
    });
    expect(begun).toEqual([]);
  } finally {
    await erasures.close();
    await catalog.close();
    for (const one of [redis, follower]) one.disconnect();
    await Promise.all([replica.stop(), master.stop(), database.drop()]);
  }
}, 120_000);
