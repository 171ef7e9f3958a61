import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { answerWithin } from '@waymark/cache';
import { oldestQueuedMs, ownSpoolPrefix, QUEUE_KINDS, type QueueDepth, queueDepths } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { repeat } from '../repeat.js';
import type { MetricsLogger } from './metrics-logger.js';

/** The state of the queue on one queue shard. */
export interface QueueSample {
  /** Number of the queue shard. */
  readonly shard: number;
  /** Numbers of jobs by queue: kinds of events, `customer`, `webhook` and `dead-letter`. */
  readonly depths: Readonly<Record<string, QueueDepth>>;
  /** Age of the oldest job by kind, in milliseconds; 0 when there is none. */
  readonly oldestMs: Readonly<Record<string, number>>;
}

interface SpoolFiles {
  readonly files: number;
  readonly bytes: number;
}

/** The files of the spool that wait to be replayed. */
export interface SpoolSample {
  /** Those of this process, including those that it has taken over. `SPOOL_MAX_MB` is a limit on them. */
  readonly own: SpoolFiles;
  /** Those of all processes, also of ones that have ended, whose files no process takes over while Redis is away. */
  readonly all: SpoolFiles;
}

export interface QueueSamplerOptions {
  /** Connections to the queue shards, by their number. */
  readonly queueShards: readonly Redis[];
  /** The directory of the spool; undefined in processes without one. */
  readonly spoolDirectory: string | undefined;
  readonly logger: MetricsLogger;
  readonly now: () => number;
  readonly intervalMs?: number;
}

/** Samples the queue and the spool every five seconds, or ten while no metrics are read. Reads return the last sample at once. */
export interface QueueSampler {
  /** A sample of each queue shard that answers. */
  queues(): readonly QueueSample[];
  /** Undefined in processes without a spool, and before the first sample. */
  spool(): SpoolSample | undefined;
  /** Call it when metrics are read; see `Repetition`. */
  use(): void;
  close(): Promise<void>;
}

const INTERVAL_MS = 5000;
/** Factor of the interval while the metrics are not requested: as long as the interval at which the process writes its samples. */
const REST_FACTOR = 2;
const ANSWER_MS = 1000;
const SPOOLED = '.spool';

async function sampleQueue(redis: Redis, shard: number, now: () => number): Promise<QueueSample> {
  const [depths, ages] = await Promise.all([
    queueDepths(redis),
    Promise.all(
      QUEUE_KINDS.map(async (kind) => {
        const queuedMs = await oldestQueuedMs(redis, kind);
        return [kind, queuedMs === undefined ? 0 : Math.max(0, now() - queuedMs)] as const;
      }),
    ),
  ]);
  return { shard, depths, oldestMs: Object.fromEntries(ages) };
}

/**
 * Counts the files that are still to be replayed, including those of further queue shards, which have directories of their own in the
 * spool's. Damaged ones do not count, because only an operator can decide what to do with them.
 */
async function sampleSpool(directory: string): Promise<SpoolSample> {
  const prefix = await ownSpoolPrefix();
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  const all = await Promise.all(
    names
      .filter((name) => name.endsWith(SPOOLED))
      .map((name) =>
        stat(join(directory, name)).then(
          ({ size }) => ({ size, isOwn: basename(name).startsWith(prefix) }),
          () => ({ size: 0, isOwn: false }),
        ),
      ),
  );
  const filled = all.filter(({ size }) => size > 0);
  const counted = (files: typeof filled): SpoolFiles => ({
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
  });
  return { own: counted(filled.filter(({ isOwn }) => isOwn)), all: counted(filled) };
}

/** Takes the first sample at once, and further ones until `close`. */
export function startQueueSampler(options: QueueSamplerOptions): QueueSampler {
  const { queueShards, spoolDirectory, logger, now, intervalMs = INTERVAL_MS } = options;
  let queues: readonly QueueSample[] = [];
  let spool: SpoolSample | undefined;

  async function sample(): Promise<void> {
    const samples = queueShards.map(async (redis, shard) => {
      try {
        return [await answerWithin(sampleQueue(redis, shard, now), ANSWER_MS, 'redis')];
      } catch (err) {
        logger.debug({ err, shard }, 'the queue is not known: Redis does not answer');
        return [];
      }
    });
    queues = (await Promise.all(samples)).flat();
    if (spoolDirectory !== undefined) spool = await sampleSpool(spoolDirectory);
  }

  const sampling = repeat(sample, { intervalMs, restIntervalMs: REST_FACTOR * intervalMs });

  return {
    queues: () => queues,
    spool: () => spool,
    use: sampling.use,
    close: sampling.close,
  };
}
