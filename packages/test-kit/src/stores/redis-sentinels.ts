import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess } from '../child-process.js';
import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';
import { startRedis } from './redis.js';
import {
  isReplicating,
  type RedisDeployment,
  untilFailedOver,
  untilReplicating,
  withRedis,
} from './redis-deployment.js';
import { launchRedis } from './redis-process.js';
import { temporaryDirectory } from './temporary-directory.js';

const MASTER_NAME = 'waymark';
const SENTINELS = 3;
const QUORUM = 2;

/** Options of {@link startRedisSentinels}. */
export interface RedisSentinelsOptions {
  /** 1 by default. */
  readonly replicas?: number;
  /** Further arguments of each server, such as `['--min-replicas-to-write', '1']`. */
  readonly args?: readonly string[];
}

/** A master, its replicas and three Sentinels. */
export async function startRedisSentinels({
  args = [],
  replicas = 1,
}: RedisSentinelsOptions = {}): Promise<RedisDeployment> {
  const shared = [...args, '--repl-diskless-sync-delay', '0'];
  const first = await startRedis({ args: shared });
  const others = await Promise.all(
    Array.from({ length: replicas }, () => startRedis({ args: [...shared, '--replicaof', `127.0.0.1 ${first.port}`] })),
  );
  const servers = [first, ...others];
  await Promise.all(others.map(({ port }) => untilReplicating(port)));

  const directory = temporaryDirectory('waymark-sentinels-');
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, async (_, index) => {
      const port = await freePort();
      mkdirSync(join(directory, String(index)));
      const file = join(directory, String(index), 'sentinel.conf');
      // Sentinels write the servers that they find into this file.
      writeFileSync(
        file,
        [
          ...['bind 127.0.0.1', `port ${port}`, `dir ${join(directory, String(index))}`],
          `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${first.port} ${QUORUM}`,
          `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
          `sentinel failover-timeout ${MASTER_NAME} 5000`,
          '',
        ].join('\n'),
      );
      return { port, child: await launchRedis(port, [file, '--sentinel']) };
    }),
  );
  const anySentinel = sentinels[0]?.port ?? 0;

  const masterPort = () =>
    withRedis(anySentinel, async (sentinel) => {
      const [, port] = (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)) as string[];
      return Number(port);
    });
  /** Waits until each Sentinel lists the others, and all replicas as servers that can be promoted. */
  const untilAgreed = () =>
    waitFor(
      async () => {
        const states = await Promise.all(
          sentinels.map(({ port }) =>
            withRedis(port, async (sentinel) => {
              const [state, found] = await Promise.all([
                sentinel.call('SENTINEL', 'CKQUORUM', MASTER_NAME) as Promise<string>,
                sentinel.call('SENTINEL', 'REPLICAS', MASTER_NAME) as Promise<string[][]>,
              ]);
              const usable = found
                .map((fields) => fields[fields.indexOf('flags') + 1])
                .filter((flags) => flags === 'slave');
              return state.startsWith(`OK ${SENTINELS}`) && usable.length === replicas;
            }),
          ),
        );
        return states.every((isReady) => isReady);
      },
      { what: 'the Sentinels to find each other' },
    );
  await untilAgreed();

  const untilAnotherThan = (port: number) =>
    waitFor(async () => (await masterPort()) !== port, { what: 'another master' });
  /** Waits until all servers but the master follow it, whichever that is: on a busy machine Sentinels may fail over once more by themselves. */
  const untilAllReplicate = () =>
    waitFor(
      async () => {
        const master = await masterPort();
        const following = servers.filter(({ port }) => port !== master);
        return (await Promise.all(following.map(({ port }) => isReplicating(port)))).every((isInStep) => isInStep);
      },
      { what: 'all replicas to follow the master', timeoutMs: 120_000 },
    );
  const serverAt = (port: number) => {
    const server = servers.find((one) => one.port === port);
    if (server === undefined) throw new Error(`no server on port ${port}`);
    return server;
  };

  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER_NAME}`,
    masterPort,

    async failOver() {
      await untilAgreed();
      const before = await masterPort();
      await untilFailedOver(
        () => withRedis(anySentinel, (sentinel) => sentinel.call('SENTINEL', 'FAILOVER', MASTER_NAME)),
        async () => (await masterPort()) !== before,
      );
      await untilAllReplicate();
    },

    async killMaster() {
      await untilAgreed();
      const before = await masterPort();
      await serverAt(before).kill9();
      await untilAnotherThan(before);
      await serverAt(before).restart();
      await untilAllReplicate();
    },

    async stop() {
      await Promise.all(sentinels.map(({ child }) => endProcess(child, 'SIGKILL')));
      await Promise.all(servers.map((server) => server.stop()));
      rmSync(directory, { recursive: true });
    },
  };
}
