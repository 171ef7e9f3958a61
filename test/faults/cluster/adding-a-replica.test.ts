import { startRedis, untilReplicating, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { compareWithStore } from '../stack/compare-with-store.js';
import { ShardedStack } from './sharded-stack.js';
import { WorkspaceTraffic } from './workspace-traffic.js';

// The steps of docs/runbooks/adding-a-replica.md for Redis, under numbered traffic.

const SALES = FAULTS.isLong ? 50 : 5;
const PAUSE_MS = FAULTS.isLong ? 50 : 400;

async function restartOneByOne(stack: ShardedStack): Promise<void> {
  await stack.startWriter();
  await stack.startApi(0);
  await stack.startApi(1);
}

it(
  'a replica that joins a running Redis has every acknowledged event when the master is lost with its disk',
  async () => {
    const stack = await ShardedStack.start(1);
    const traffic = await WorkspaceTraffic.start(stack, 'acme', PAUSE_MS);
    try {
      await traffic.progress(SALES);
      const [master] = stack.shards;
      if (master === undefined) throw new Error('there is no Redis');
      const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
      await untilReplicating(replica.port);
      stack.waitReplicas = 1;
      await restartOneByOne(stack);
      await traffic.progress(SALES);

      await master.kill9();
      await master.stop();
      traffic.mark();
      await waitFor(() => traffic.failures.length > 0, { what: 'a refusal without a master' });
      const redis = new Redis(replica.url);
      await redis.replicaof('NO', 'ONE');
      redis.disconnect();
      stack.shards[0] = replica;
      stack.waitReplicas = 0;
      await restartOneByOne(stack);
      await traffic.progress(SALES);

      await traffic.stop();
      await stack.drained(FAULTS.settleMs);
      const { url, database } = stack.database;
      const { acknowledged, ...differences } = await compareWithStore(url, traffic.sentEvents, database);
      expect(differences).toEqual({ lost: [], twice: [], viewsDiffer: [] });
      expect(acknowledged).toBeGreaterThan(3 * SALES);
    } finally {
      await traffic.stop();
      await stack.stop();
    }
  },
  SCENARIO_MS,
);
