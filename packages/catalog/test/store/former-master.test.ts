import { createResourceId } from '@waymark/contract';
import { startRedis, startStores, type TestRedis, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;

interface Pair {
  readonly former: TestRedis;
  /** A replica of `former`. */
  readonly next: TestRedis;
  connect(server: TestRedis): Redis;
  replicaOf(server: TestRedis): Promise<TestRedis>;
}

/** Two servers of the test, and what it connects and adds to them; all end with it. */
async function startPair({ onTestFinished }: TestContext, args: readonly string[] = []): Promise<Pair> {
  const clients: Redis[] = [];
  const servers: TestRedis[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  });
  const connect = ({ url }: TestRedis) => {
    const client = new Redis(url);
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const start = async (serverArgs: readonly string[]) => {
    const server = await startRedis({ args: serverArgs });
    servers.push(server);
    return server;
  };
  const replicaOf = async ({ port }: TestRedis) => {
    const replica = await start(['--replicaof', `127.0.0.1 ${port}`]);
    const client = connect(replica);
    const isFollowing = async () => (await client.info('replication')).includes('master_link_status:up');
    await waitFor(isFollowing, { what: 'the replica' });
    return replica;
  };
  const former = await start(['--repl-diskless-sync-delay', '0', ...args]);
  return { former, next: await replicaOf(former), connect, replicaOf };
}

beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

/** Resolves once the process may serve its copies, or may not. */
const untilSubscribed = (catalog: Catalog, is: boolean) =>
  waitFor(() => catalog.isSubscribed() === is, { what: is ? 'the lease' : 'the end of the lease' });

// Both cases mostly wait, each for servers of its own.
it.concurrent.for<readonly [string, readonly string[]]>([
  ['takes writes', []],
  ['refuses writes', ['--min-replicas-to-write', '1']],
])(
  'a process that still reaches the former master alone, which %s, answers what was written through the next one',
  async ([, args], context) => {
    const { former, next, connect } = await startPair(context, args);
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

it('a process that reaches the former master of another queue shard alone does not answer that a customer is unknown', async (context) => {
  const { former, next, connect, replicaOf } = await startPair(context);
  await replicaOf(stores.redis);
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
