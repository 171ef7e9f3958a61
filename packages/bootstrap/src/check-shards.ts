import { setTimeout as delay } from 'node:timers/promises';
import { checkShardMark, ShardMismatchError } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';
import type { Stores } from './open-stores.js';

/** How long the start of a process waits for shards that do not answer. */
const START_WAIT_MS = 2_000;
/** Pause before a check that has failed is repeated. */
const REPEAT_MS = 1_000;

/**
 * Checks that the queue shards are those of the installation, now and after each reconnect, until Redis answers. Of the checks that fail, the
 * first is logged. A wrong shard ends the process, because events would be recorded twice: during the start this function rejects, and later
 * the check throws an uncaught error. With one shard this function does not wait for the check.
 *
 * @throws ShardMismatchError when a shard that answers within two seconds is not the one that the installation has under its number
 */
export async function checkShards(queues: Stores['queues'], logger: Pick<Logger, 'warn'>): Promise<void> {
  let isStarting = queues.length > 1;

  const firstCheck = ({ redis }: Stores['queues'][number], shard: number) =>
    new Promise<void>((resolve, reject) => {
      let repetition: NodeJS.Timeout | undefined;
      let hasWarned = false;
      async function check(): Promise<void> {
        clearTimeout(repetition);
        try {
          await checkShardMark(redis, shard, queues.length);
          hasWarned = false;
          resolve();
        } catch (err) {
          if (!(err instanceof ShardMismatchError)) {
            if (!hasWarned) logger.warn({ err, shard }, 'a queue shard could not be checked');
            hasWarned = true;
            repetition = setTimeout(() => {
              if (redis.status === 'ready') void check();
            }, REPEAT_MS).unref();
          } else if (isStarting) reject(err);
          else
            setImmediate(() => {
              // An uncaught error, which ends the process.
              throw err;
            });
        }
      }
      redis.on('ready', check);
      if (redis.status === 'ready') void check();
    });

  const checks = Promise.all(queues.map(firstCheck));
  if (isStarting) await Promise.race([checks, delay(START_WAIT_MS)]);
  isStarting = false;
}
