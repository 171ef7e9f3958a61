import { createResourceId } from '@waymark/contract';
import { startRedis, startStores, type TestRedis, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let former: TestRedis;
let next: TestRedis;
const clients: Redis[] = [];

function connect({ url }: TestRedis): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

/** Starts `former`, and `next` as its replica. */
async function startPair(args: readonly string[] = []): Promise<void> {
  former = await startRedis({ args: ['--repl-diskless-sync-delay', '0', ...args] });
  next = await aReplicaOf(former);
}

async function aReplicaOf({ port }: TestRedis): Promise<TestRedis> {
  const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${port}`] });
  const client = connect(replica);
  const isFollowing = async () => (await client.info('replication')).includes('master_link_status:up');
  await waitFor(isFollowing, { what: 'the replica' });
  return replica;
}

beforeAll(async () => {
  stores = await startStores();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all([former.stop(), next.stop()]);
});
afterAll(() => stores.close());

/** Resolves once the process may serve its copies, or may not. */
const untilSubscribed = (catalog: Catalog, is: boolean) =>
  waitFor(() => catalog.isSubscribed() === is, { what: is ? 'the lease' : 'the end of the lease' });

it.each([
  ['takes writes', []],
  ['refuses writes', ['--min-replicas-to-write', '1']],
])(
  'a process that still reaches the former master alone, which %s, answers what was written through the next one',
  async (_, args) => {
    await startPair(args);
    const client = connect(next);
    const cutOff = stores.catalog({ redis: connect(former), waitReplicas: 1 });
    await untilSubscribed(cutOff, true);
    const unknown = createResourceId('customer', Date.now());
    // Each command must be confirmed in time.
    const { workspace, host, link } = await waitFor(
      async () => {
        const made = await aWorkspace(cutOff);
        const link = await cutOff.links.create(made.workspace.id, {
          ...{ domain: made.host, key: 'before', url: 'https://one.com' },
        });
        expect(await cutOff.links.get(made.workspace.id, link.id)).toMatchObject({ url: 'https://one.com' });
        expect(await cutOff.customers.get(made.workspace.id, unknown)).toBeUndefined();
        return { ...made, link };
      },
      { what: 'the answers of before' },
    );

    await client.replicaof('NO', 'ONE');
    const catalog = stores.catalog({ redis: client });
    await untilSubscribed(catalog, true);
    await untilSubscribed(cutOff, false);
    await catalog.links.update(workspace.id, link.id, (record) => ({
      ...record,
      key: 'after',
      url: 'https://two.com',
    }));

    expect(await cutOff.links.get(workspace.id, link.id)).toMatchObject({ url: 'https://two.com' });
    expect(await cutOff.links.findByAddress(host, 'before')).toBeUndefined();
    expect(await cutOff.links.findByAddress(host, 'after')).toMatchObject({ id: link.id });
    // It may be pending in the next master.
    await expect(cutOff.customers.get(workspace.id, unknown)).rejects.toMatchObject({ status: 500 });
  },
);

it('a process that reaches the former master of another queue shard alone does not answer that a customer is unknown', async () => {
  await startPair();
  const replica = await aReplicaOf(stores.redis);
  onTestFinished(() => replica.stop());
  const cutOff = stores.catalog({ otherQueueShards: [connect(former)], waitReplicas: 1 });
  await untilSubscribed(cutOff, true);
  const { workspace } = await waitFor(
    async () => {
      const made = await aWorkspace(cutOff);
      return (await cutOff.queueShards.pick([false, true], made.workspace.id)) && made;
    },
    { what: 'a workspace of that shard' },
  );
  const find = () => cutOff.customers.get(workspace.id, createResourceId('customer', Date.now()));
  // Until a replica confirms in time.
  await waitFor(
    () =>
      find().then(
        (found) => found === undefined,
        () => false,
      ),
    { what: 'the answer' },
  );

  await connect(next).replicaof('NO', 'ONE');
  const isRefused = () =>
    find().then(
      () => false,
      ({ status }) => status === 500,
    );
  await waitFor(isRefused, { what: 'the refusal', timeoutMs: 20_000 });
});
