import type { Redis } from 'ioredis';
import { PROBE_WRITE } from './probe-write.js';

/** Too few replicas have confirmed a write in time. It may have been carried out, and a failover may undo it. */
export class NotReplicatedError extends Error {
  override readonly name = 'NotReplicatedError';
}

/** Waits until replicas confirm the commands of one connection; docs/production.md, "Replicas and failover". */
export interface Replication {
  /** Whether replicas must confirm writes; if not, `confirmed` only runs `work`. */
  readonly isOn: boolean;
  /**
   * Runs `work`, which sends commands on the connection, and resolves with its result when all data that these commands have written or
   * read is on enough replicas to survive a failover.
   *
   * @param isNeeded whether to wait for the replicas, given the result of `work`; by default always
   * @throws NotReplicatedError when the replicas did not confirm in time, or the connection was closed meanwhile
   */
  confirmed<T>(work: () => Promise<T>, isNeeded?: (result: T) => boolean): Promise<T>;
}

/** How long replicas may take to confirm. Meanwhile WAIT blocks the connection. */
const CONFIRMATION_MS = 500;

/**
 * Creates the {@link Replication} of a connection.
 *
 * @param redis the connection on which `work` sends its commands
 * @param replicas how many replicas must confirm; 0 = none
 */
export function createReplication(redis: Redis, replicas: number): Replication {
  if (replicas === 0) return { isOn: false, confirmed: (work) => work() };
  /** Counts lost connections: after one, commands may be sent to another server, which may lack what the first one had. */
  let lost = 0;
  redis.on('close', () => {
    lost += 1;
  });

  /** @returns how many replicas have everything that this connection wrote */
  async function countReplicas(): Promise<number> {
    const pipeline = redis.pipeline();
    // WAIT counts the replicas that have the last write of this connection. `work` may have only read what another connection wrote, so the
    // probe is a write that comes after it.
    pipeline.eval(...PROBE_WRITE).wait(replicas, CONFIRMATION_MS);
    const answers = (await pipeline.exec()) ?? [];
    for (const [err] of answers) {
      if (err !== null)
        throw new NotReplicatedError(`the wait for replicas of Redis failed: ${err.message}`, { cause: err });
    }
    return Number(answers.at(-1)?.[1] ?? 0);
  }

  return {
    isOn: true,
    async confirmed(work, isNeeded = () => true) {
      const lostBefore = lost;
      const result = await work();
      if (!isNeeded(result)) return result;
      const count = await countReplicas();
      if (lost !== lostBefore)
        throw new NotReplicatedError('the connection to Redis was lost before its replicas confirmed');
      if (count < replicas) {
        throw new NotReplicatedError(
          `${count} of ${replicas} replicas of Redis confirmed a write within ${CONFIRMATION_MS} ms`,
        );
      }
      return result;
    },
  };
}
