import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { embeddedEnvironment, embeddedUrl, newEmbeddedPassword } from '@waymark/clickhouse-embedded';
import { environmentWith } from '@waymark/config';
import { bundleProcess } from '../bundle-process.js';
import { endProcess } from '../child-process.js';
import { temporaryDirectory } from '../stores/temporary-directory.js';
import { clusterNodes, databaseOf, SESSIONS, TEST_CLUSTER } from './cluster-config.js';

/** Options of {@link startTestCluster}. */
export interface TestClusterOptions {
  readonly shards: number;
  /** Of each shard; 1 by default. */
  readonly replicas?: number;
  /**
   * The privileges of the user, such as `SELECT ON waymark.*`, where `waymark` stands for the databases of all nodes. By default it has all
   * privileges.
   */
  readonly grants?: readonly string[];
}

/** A running cluster of {@link startTestCluster}. */
export interface TestCluster {
  /** The URL of all nodes, with user and password. */
  readonly url: string;
  /** Name of the cluster in `system.clusters`. */
  readonly cluster: string;
  /** The databases of its nodes, shard after shard. A client of one of them is a client of that node. */
  readonly databases: readonly string[];
  /**
   * Takes a node away for good: the others do not reach it, and statements ON CLUSTER fail, as they do on a cluster after waiting for it.
   *
   * @param number of the node, from 1
   */
  loseNode(number: number): Promise<void>;
  /** Kills the cluster and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a ClickHouse cluster in one process, the embedded engine: each node is a database, which the others reach through ClickHouse's
 * native protocol, as they reach servers. Keeper is the engine's own, in memory. Statements ON CLUSTER run on each node at once, not
 * through Keeper's queue. There is no transfer of parts, so a row is only on the replica that it was inserted on: the others are behind.
 */
export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { shards, replicas = 1, grants = [] } = options;
  const dataDir = temporaryDirectory('waymark-cluster-');
  const password = newEmbeddedPassword();
  const entry = await bundleProcess(new URL('./cluster-main.ts', import.meta.url));
  const child = fork(entry, [dataDir, String(shards), String(replicas), ...grants], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentWith(embeddedEnvironment(password, SESSIONS)),
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`the test cluster ended: ${signal ?? code}`)));
    child.once('message', (message) => resolve((message as { port: number }).port));
  });
  return {
    url: embeddedUrl(port, password),
    cluster: TEST_CLUSTER,
    databases: clusterNodes(shards, replicas).map(databaseOf),
    loseNode: (number) =>
      new Promise((resolve) => {
        child.once('message', () => resolve());
        child.send(number);
      }),
    async stop() {
      await endProcess(child, 'SIGKILL');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
