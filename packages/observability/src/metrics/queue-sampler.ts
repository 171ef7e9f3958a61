import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { oldestQueuedMs, QUEUE_KINDS, type QueueDepth, queueDepths } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { repeat } from '../repeat.js';
import { within } from '../within.js';
import type { MetricsLogger } from './metrics-logger.js';

export interface QueueSample {
  /** By queue: kinds of events, customer, webhook and dead-letter. */
  readonly depths: Readonly<Record<string, QueueDepth>>;
  /** Age of the oldest job by kind, milliseconds; 0 when there is none. */
  readonly oldestMs: Readonly<Record<string, number>>;
}

export interface SpoolSample {
  readonly files: number;
  readonly bytes: number;
}

export interface QueueSamplerOptions {
  readonly redis: Redis;
  /** Where clicks wait while Redis is away; undefined in processes that have none. */
  readonly spoolDirectory: string | undefined;
  readonly logger: MetricsLogger;
  readonly now: () => number;
  readonly intervalMs?: number;
}

/** Samples the queue and the spool every few seconds, so that reads return the last sample at once. */
export interface QueueSampler {
  /** Undefined while Redis is away. */
  queue(): QueueSample | undefined;
  spool(): SpoolSample | undefined;
  close(): Promise<void>;
}

const INTERVAL_MS = 5000;
const ANSWER_MS = 1000;
const DAMAGED = '.damaged';

async function sampleQueue(redis: Redis, now: () => number): Promise<QueueSample> {
  const [depths, ages] = await Promise.all([
    queueDepths(redis),
    Promise.all(
      QUEUE_KINDS.map(async (kind) => {
        const queuedAt = await oldestQueuedMs(redis, kind);
        return [kind, queuedAt === undefined ? 0 : Math.max(0, now() - queuedAt)] as const;
      }),
    ),
  ]);
  return { depths, oldestMs: Object.fromEntries(ages) };
}

/** Files that are still to be replayed. Damaged ones are not: an operator decides what to do with them. */
async function sampleSpool(directory: string): Promise<SpoolSample> {
  const names = await readdir(directory).catch(() => []);
  const waiting = names.filter((name) => !name.endsWith(DAMAGED));
  const sizes = await Promise.all(
    waiting.map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const filled = sizes.filter((size) => size > 0);
  return { files: filled.length, bytes: filled.reduce((sum, size) => sum + size, 0) };
}

export function startQueueSampler(options: QueueSamplerOptions): QueueSampler {
  const { redis, spoolDirectory, logger, now } = options;
  let queue: QueueSample | undefined;
  let spool: SpoolSample | undefined;

  async function sample(): Promise<void> {
    try {
      queue = await within(sampleQueue(redis, now), ANSWER_MS, 'redis');
    } catch (err) {
      queue = undefined;
      logger.debug({ err }, 'the queue is not known: Redis does not answer');
    }
    if (spoolDirectory !== undefined) spool = await sampleSpool(spoolDirectory);
  }

  const sampling = repeat(sample, options.intervalMs ?? INTERVAL_MS);

  return {
    queue: () => queue,
    spool: () => spool,
    close: sampling.close,
  };
}
