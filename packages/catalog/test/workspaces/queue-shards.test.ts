import { randomUUID } from 'node:crypto';
import { createClickHouseClient } from '@waymark/clickhouse';
import { startRedis, startStores, type TestRedis, type TestStores } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog, WorkspaceRecord } from '../../src/index.js';

/** A list by which `pick` shows its choice. */
const NUMBERS = [0, 1, 2, 3];

let stores: TestStores;
let server: TestRedis;
let shard: Redis;
let old: WorkspaceRecord;
beforeAll(async () => {
  [stores, server] = await Promise.all([startStores(), startRedis({ args: [] })]);
  shard = new Redis(server.url);
  old = (await create(stores.catalog())).workspace;
});
afterAll(async () => {
  await stores.close();
  shard.disconnect();
  await server.stop();
});

/** A catalog with this many queue shards. Only the number matters here. */
const withShards = (count: number) =>
  stores.catalog({ otherQueueShards: Array.from({ length: count - 1 }, () => shard) });

function create(catalog: Catalog, queueShard?: number) {
  const slug = randomUUID().slice(0, 8);
  return catalog.workspaces.create({
    name: slug,
    slug,
    plan: 'enterprise',
    ...(queueShard !== undefined && { queueShard }),
  });
}

const placesOf = (catalog: Catalog, workspaces: readonly WorkspaceRecord[]) =>
  Promise.all(workspaces.map(({ id }) => catalog.queueShards.pick(NUMBERS, id)));

describe('the queue shard of a workspace', () => {
  it('is 0 where there is one Redis, and then its record is as before', async () => {
    const catalog = stores.catalog();
    const { workspace } = await create(catalog);
    expect(workspace).not.toHaveProperty('queueShard');
    expect(catalog.queueShards.pickKnown(NUMBERS, workspace.id)).toBe(0);
    await expect(create(catalog, 1)).rejects.toThrow('There is no queue shard 1');
  });

  it('stays when shards are added, and a new workspace gets the one with the fewest', async () => {
    const two = withShards(2);
    const made = [old];
    for (let count = 0; count < 3; count++) made.push((await create(two)).workspace);
    // Two old ones are on shard 0.
    expect(await placesOf(two, made)).toEqual([0, 1, 1, 0]);
    const four = withShards(4);
    expect(await placesOf(four, made)).toEqual([0, 1, 1, 0]);
    const added = [(await create(four)).workspace, (await create(four)).workspace, (await create(four, 1)).workspace];
    expect(await placesOf(withShards(4), [...made, ...added])).toEqual([0, 1, 1, 0, 2, 3, 1]);
  });

  it('is no other one in a process that lacks it', async () => {
    const { workspace } = await create(withShards(4), 3);
    const two = withShards(2);
    await expect(two.queueShards.pick(NUMBERS.slice(0, 2), workspace.id)).rejects.toMatchObject({
      code: 'internal_server_error',
      retryAfterSeconds: 1,
    });
    await expect(two.customers.findByExternalId(workspace.id, 'ada')).rejects.toMatchObject({ retryAfterSeconds: 1 });
    expect(two.queueShards.pickKnown(NUMBERS.slice(0, 2), workspace.id)).toBeUndefined();
  });

  it('is known through any outage once it was read, and before that never guessed', async () => {
    const { workspace } = await create(withShards(2), 1);
    const noRedis = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => null });
    noRedis.on('error', () => undefined);
    const clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:1', database: 'none' });
    const away = { redis: noRedis, database: { client: clickhouse }, otherQueueShards: [shard], redirectWaitMs: 500 };
    const ignorant = stores.catalog(away);
    await expect(ignorant.queueShards.pick(NUMBERS, workspace.id)).rejects.toMatchObject({ retryAfterSeconds: 1 });
    expect(ignorant.queueShards.pickKnown(NUMBERS, workspace.id)).toBeUndefined();

    let hours = 0;
    const now = () => Date.now() + hours * 3_600_000;
    const database = stores.databaseAt(stores.database.url);
    const known = stores.catalog({ redis: noRedis, database, otherQueueShards: [shard], now });
    expect(await known.queueShards.pick(NUMBERS, workspace.id)).toBe(1);
    await database.client.close();
    hours = 24;
    expect(known.queueShards.pickKnown(NUMBERS, workspace.id)).toBe(1);
    expect(await known.queueShards.pick(NUMBERS, workspace.id)).toBe(1);
    await clickhouse.close();
  });
});
