import type { Stores } from '@waymark/bootstrap';
import { rewriteFiles } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';
import { forEachReplica } from '@waymark/redis';

export interface RedisRewritesOptions {
  /** The Redis of each queue shard. */
  readonly queueShards: readonly Stores['redis'][];
  readonly logger: Pick<Logger, 'warn'>;
}

const REWRITE_WITHIN_MS = 5 * 60_000;
/** After this many runs a batch ends even if a replica has not rewritten its files. */
const REPLICA_RUNS_MAX = 10;

/** Whether Redis has refused a command. */
const isRefusal = (err: unknown) => err instanceof Error && err.name === 'ReplyError';

/**
 * Creates the function that has every queue shard and its replicas rewrite their append-only files and dumps, which still contain the values
 * that a batch of erasures has removed. Three failures are only logged: a Redis refuses; a replica cannot be reached, perhaps because its
 * master lists an address that is not reachable from here; a replica has not rewritten its files after {@link REPLICA_RUNS_MAX} runs of the
 * batch.
 *
 * @returns a function that returns false if a file is to be rewritten again, and throws the error of the connection to a queue shard
 */
export function createRedisRewrites({ queueShards, logger }: RedisRewritesOptions) {
  /** The batch of the last rewrite, and the number of its runs in which files were to be rewritten. */
  const rewriting = { batch: '', runs: 0 };

  return async (batch: string, closing: AbortSignal): Promise<boolean> => {
    if (rewriting.batch !== batch) Object.assign(rewriting, { batch, runs: 0 });
    let areRewritten = true;
    const warn = (err: unknown, { options: { host, port } }: Stores['redis']) => {
      const message = 'Redis does not rewrite its append-only file or its dump: erased texts stay in it until it does';
      logger.warn({ err, host, port }, message);
    };
    const rewrite = async (server: Stores['redis'], isReplica: boolean) => {
      const isDone = !closing.aborted && (await rewriteFiles(server, REWRITE_WITHIN_MS, closing));
      if (isDone) return;
      if (!closing.aborted) warn(undefined, server);
      if (!isReplica || rewriting.runs < REPLICA_RUNS_MAX) areRewritten = false;
    };
    for (const shard of queueShards) {
      try {
        await rewrite(shard, false).catch((err: unknown) => {
          if (!isRefusal(err)) throw err;
          warn(err, shard);
        });
        await forEachReplica(shard, (replica) => rewrite(replica, true).catch((err: unknown) => warn(err, replica)));
      } catch (err) {
        if (!isRefusal(err)) throw err;
        warn(err, shard);
      }
    }
    rewriting.runs += 1;
    return areRewritten;
  };
}
