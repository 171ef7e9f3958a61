import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';
import { startRedis } from './redis.js';
import { type RedisDeployment, untilFailedOver, untilReplicating, withRedis } from './redis-deployment.js';
import type { TestRedis } from './test-server.js';

const MASTERS = 3;
const SLOTS = 16_384;
/** All keys are in the slot of this hash tag. */
const HASH_TAG = '{waymark}';

interface Node extends TestRedis {
  readonly busPort: number;
}

async function startNode(): Promise<Node> {
  const busPort = await freePort();
  const server = await startRedis({
    args: [
      ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '1000'],
      // Nodes list a replica once it has received something, which is the master's first ping.
      ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
    ],
  });
  return Object.defineProperty(server, 'busPort', { value: busPort }) as Node;
}

/** Three masters, and a replica of the one that has our keys. */
export async function startRedisCluster(): Promise<RedisDeployment> {
  const nodes = await Promise.all(Array.from({ length: MASTERS + 1 }, startNode));
  const [seed] = nodes;
  const replica = nodes.at(-1);
  if (seed === undefined || replica === undefined) throw new Error('no nodes');
  const masters = nodes.slice(0, MASTERS);
  // Otherwise the nodes choose epochs one after the other, and refuse failovers meanwhile.
  await Promise.all(
    nodes.map(({ port }, index) => withRedis(port, (redis) => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1))),
  );
  await Promise.all(
    masters.map(({ port }, index) => {
      const first = Math.floor((index * SLOTS) / MASTERS);
      const last = Math.floor(((index + 1) * SLOTS) / MASTERS) - 1;
      return withRedis(port, (redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', first, last));
    }),
  );
  await withRedis(seed.port, async (redis) => {
    for (const { port, busPort } of nodes.slice(1)) await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  });
  await waitFor(
    async () => {
      const states = await Promise.all(
        nodes.map(({ port }) => withRedis(port, async (redis) => String(await redis.call('CLUSTER', 'INFO')))),
      );
      return states.every((text) => text.includes('state:ok') && text.includes(`known_nodes:${nodes.length}`));
    },
    { what: 'the nodes to meet' },
  );

  /** The range with our slot in the view of a node that is up: its first and last slot, its owner and its replicas. */
  const ourRange = (asked: number) =>
    withRedis(asked, async (redis) => {
      const slot = Number(await redis.call('CLUSTER', 'KEYSLOT', HASH_TAG));
      const ranges = (await redis.call('CLUSTER', 'SLOTS')) as [number, number, ...[string, number, string][]][];
      const range = ranges.find(([first, last]) => first <= slot && slot <= last);
      if (range?.[2] === undefined) throw new Error('no node owns the slot');
      const [, , [, port, id], ...replicas] = range;
      return { port, id, replicas: replicas.length };
    });
  const { port: firstOwner, id } = await ourRange(seed.port);
  await withRedis(replica.port, (redis) => redis.call('CLUSTER', 'REPLICATE', id));
  await untilReplicating(replica.port);

  const pair = nodes.filter(({ port }) => port === firstOwner || port === replica.port);
  const witness = masters.find(({ port }) => port !== firstOwner);
  if (witness === undefined) throw new Error('no other master');
  const masterPort = async () => (await ourRange(witness.port)).port;
  /** Waits until all nodes list the owner's replica, so that they can elect it. */
  const untilReplicaIsListed = () =>
    waitFor(
      async () => {
        const ranges = await Promise.all(nodes.map(({ port }) => ourRange(port)));
        return ranges.every(({ replicas }) => replicas === 1);
      },
      { what: 'all nodes to list the replica' },
    );
  await untilReplicaIsListed();
  /** Whether most nodes agree on another owner. */
  const hasAnotherOwner = async (before: number) => {
    const owners = await Promise.all(nodes.map(async ({ port }) => ourRange(port).catch(() => undefined)));
    return owners.filter((owner) => owner !== undefined && owner.port !== before).length >= MASTERS;
  };

  return {
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masterPort,

    async failOver() {
      await untilReplicaIsListed();
      const before = await masterPort();
      const next = pair.find(({ port }) => port !== before);
      if (next === undefined) throw new Error('no replica');
      await untilReplicating(next.port);
      await untilFailedOver(
        () => withRedis(next.port, (redis) => redis.call('CLUSTER', 'FAILOVER')),
        () => hasAnotherOwner(before),
      );
      await untilReplicating(before);
    },

    async killMaster() {
      await untilReplicaIsListed();
      const before = await masterPort();
      const killed = pair.find(({ port }) => port === before);
      await untilReplicating(pair.find(({ port }) => port !== before)?.port ?? 0);
      await killed?.kill9();
      await waitFor(() => hasAnotherOwner(before), { what: 'another owner' });
      await killed?.restart();
      await untilReplicating(before);
    },

    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
