import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { startRedis, untilReplicating, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { compareWithStore } from '../stack/compare-with-store.js';
import { ShardedStack } from './sharded-stack.js';
import { WorkspaceTraffic } from './workspace-traffic.js';

// The steps of docs/runbooks/adding-a-replica.md for Redis, under numbered traffic.

const PAGE = readFileSync(new URL('../../../docs/runbooks/adding-a-replica.md', import.meta.url), 'utf8');
const [, PROMOTION = ''] = /\n\s*(redis-cli .* REPLICAOF NO ONE .*)\n/.exec(PAGE) ?? [];

const SALES = FAULTS.isLong ? 50 : 5;
const PAUSE_MS = FAULTS.isLong ? 50 : 400;

async function restartOneByOne(stack: ShardedStack): Promise<void> {
  await stack.startWriter();
  await stack.startApi(0);
  await stack.startApi(1);
}

it(
  'a replica that joins a running Redis has every acknowledged event when the master is lost, and keeps them when it comes back',
  async () => {
    const stack = await ShardedStack.start(1);
    const traffic = await WorkspaceTraffic.start(stack, 'acme', PAUSE_MS);
    try {
      await traffic.progress(SALES);
      const [master] = stack.shards;
      if (master === undefined) throw new Error('there is no Redis');
      const replica = await startRedis({ configuration: `replicaof 127.0.0.1 ${master.port}\n` });
      onTestFinished(() => Promise.all([master.stop(), replica.stop()]).then(() => undefined));
      await untilReplicating(replica.port);
      stack.waitReplicas = 1;
      await restartOneByOne(stack);
      await traffic.progress(SALES);

      await master.kill9();
      traffic.mark();
      await waitFor(() => traffic.failures.length > 0, { what: 'a refusal without a master' });
      const promotion = PROMOTION.replaceAll('-h <replica>', `-p ${replica.port}`);
      expect(execFileSync('sh', ['-c', promotion], { encoding: 'utf8' })).toMatch(/^OK\nOK\nrole:master\r?\n$/);
      stack.shards[0] = replica;
      stack.waitReplicas = 0;
      await restartOneByOne(stack);
      await traffic.progress(SALES);

      // The machine of the old master is repaired, and its Redis starts by itself. Later the other one is restarted.
      await master.restart();
      await replica.kill9();
      await replica.restart();
      await traffic.progress(SALES);

      await traffic.stop();
      await stack.drained(FAULTS.settleMs);
      const { url, database } = stack.database;
      const { acknowledged, ...differences } = await compareWithStore(url, traffic.sentEvents, database);
      expect(differences).toEqual({ lost: [], twice: [], viewsDiffer: [] });
      expect(acknowledged).toBeGreaterThan(4 * SALES);
    } finally {
      await traffic.stop();
      await stack.stop();
    }
  },
  SCENARIO_MS,
);
