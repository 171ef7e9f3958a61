import { Redis } from 'ioredis';
import { waitFor } from '../wait-for.js';

/** A Redis master and its replicas. */
export interface RedisDeployment {
  /** For REDIS_URL. */
  readonly url: string;
  /** The port of the server that takes the writes now. */
  masterPort(): Promise<number>;
  /** Makes a replica the master, as an operator would; the old master becomes its replica. Resolves when that is done. */
  failOver(): Promise<void>;
  /** Sends SIGKILL to the master, waits until a replica is the master, and then starts the old one again, as a replica. */
  killMaster(): Promise<void>;
  /** Ends all servers and removes their data. */
  stop(): Promise<void>;
}

/** Runs `work` with a connection to the server on `port`, and closes it. Nothing is retried. */
export async function withRedis<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ port, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** On a busy machine a server may answer late and the failover is then refused or given up, so it is requested again. */
const REQUEST_INTERVAL_MS = 10_000;

/**
 * Requests a failover, every ten seconds, until it has happened.
 *
 * @param request may throw
 */
export async function untilFailedOver(request: () => Promise<unknown>, isDone: () => Promise<boolean>): Promise<void> {
  let requestedMs = Number.NEGATIVE_INFINITY;
  await waitFor(
    async () => {
      if (await isDone()) return true;
      if (performance.now() - requestedMs > REQUEST_INTERVAL_MS) {
        await request();
        requestedMs = performance.now();
      }
      return false;
    },
    { what: 'a failover' },
  );
}

/** Whether the server on `port` is a replica that is connected to its master and in sync with it. */
export function isReplicating(port: number): Promise<boolean> {
  return withRedis(port, async (redis) => /^master_link_status:up/m.test(await redis.info('replication')));
}

/** Waits until {@link isReplicating}. */
export function untilReplicating(port: number): Promise<unknown> {
  const what = `the server on port ${port} to follow its master`;
  return waitFor(() => isReplicating(port), { what });
}

const CONFIRMATION_MS = 500;

/**
 * Waits until a replica confirms what its master has. One that follows its master ({@link untilReplicating}) confirms nothing before its
 * first acknowledgement, up to a second later.
 */
export function untilConfirming(master: Redis): Promise<unknown> {
  return waitFor(
    async () => {
      // On a connection that has written nothing, WAIT counts replicas that have not acknowledged anything either.
      await master.set('{waymark}:probe', '', 'PX', 60_000);
      return (await master.wait(1, CONFIRMATION_MS)) >= 1;
    },
    { what: 'a replica to confirm what its master has' },
  );
}
