import type { Redis } from 'ioredis';
import { withinMs } from './deadline.js';
import { type QueueLogger, throttled } from './throttled-log.js';

/** How much room Redis has: at 70 % `/track` is turned away, at 85 % clicks go to disk. BullMQ dead-locks at 100 %. */
export type Load = 'normal' | 'shed-track' | 'spool-clicks';

const SHED_TRACK_AT = 0.7;
const SPOOL_CLICKS_AT = 0.85;

export interface RedisHealth {
  load(): Load;
  /** Connected, and answered the last time it was asked. */
  isAnswering(): boolean;
  /** A call was not answered in time, or failed: nothing is sent until Redis answers a probe. */
  reportTrouble(err: unknown): void;
  /** Redis refused for lack of memory, whatever the last poll said. */
  reportFull(): void;
  /** Asks Redis right now instead of at the next poll. */
  refresh(): Promise<void>;
  /** Whether Redis answers. Waits only while the very first connection is being made: after that, trouble is known. */
  untilAnswering(milliseconds: number): Promise<boolean>;
  close(): void;
}

/** Share of its memory limit that Redis uses, 0 when it has no limit. */
function memoryShare(info: string): number {
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limit = field('maxmemory');
  return limit === 0 ? 0 : field('used_memory') / limit;
}

function loadOf(share: number): Load {
  if (share >= SPOOL_CLICKS_AT) return 'spool-clicks';
  return share >= SHED_TRACK_AT ? 'shed-track' : 'normal';
}

export interface RedisHealthOptions {
  readonly pollMs: number;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

const PROBE_ANSWER_MS = 200;
const TROUBLE_POLL_MS = 25;

/** Watches Redis by asking for its memory: often enough to shed in time, more often while it does not answer. */
export function createRedisHealth(redis: Redis, options: RedisHealthOptions): RedisHealth {
  const warn = throttled((context, message) => options.logger.warn(context, message), 5000, options.now);
  const waiters = new Set<() => void>();
  let load: Load = 'normal';
  let hasAnswered = false;
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const answering = () => hasAnswered && redis.status === 'ready';

  const schedule = () => {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(probe, answering() ? options.pollMs : TROUBLE_POLL_MS);
  };

  async function probe(): Promise<void> {
    try {
      if (redis.status !== 'ready') throw new Error(`connection is ${redis.status}`);
      load = loadOf(memoryShare(await withinMs(redis.info('memory'), PROBE_ANSWER_MS, 'redis probe')));
      if (isFirst) options.logger.info({}, 'redis answers');
      hasAnswered = true;
      isFirst = false;
      for (const waiter of waiters) waiter();
    } catch {
      hasAnswered = false;
    }
    schedule();
  }

  const onReady = () => void probe();
  redis.on('ready', onReady);
  void probe();

  return {
    load: () => load,
    isAnswering: answering,
    refresh: probe,

    reportTrouble(err) {
      warn({ err }, 'redis is in trouble: clicks go to the spool until it answers');
      if (!hasAnswered) return;
      hasAnswered = false;
      void probe();
    },

    reportFull() {
      warn({}, 'redis is full: clicks go to the spool');
      load = 'spool-clicks';
    },

    async untilAnswering(milliseconds) {
      if (answering() || !isFirst) return answering();
      return new Promise((resolve) => {
        const settle = (value: boolean) => {
          clearTimeout(limit);
          waiters.delete(answered);
          resolve(value);
        };
        const answered = () => settle(true);
        const limit = setTimeout(() => settle(false), Math.max(0, milliseconds));
        waiters.add(answered);
      });
    },

    close() {
      isClosed = true;
      clearTimeout(timer);
      redis.off('ready', onReady);
    },
  };
}
