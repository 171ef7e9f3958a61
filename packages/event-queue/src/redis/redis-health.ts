import type { Redis } from 'ioredis';
import { withinMs } from './deadline.js';
import { memoryShare } from './info.js';
import { type QueueLogger, throttled } from './throttled-log.js';

/**
 * The load of Redis, by its use of memory. From 70 % of the limit on, conversions of `/track` are refused; from 85 % on, clicks go to the
 * spool. At 100 % BullMQ dead-locks.
 */
export type Load = 'normal' | 'shed-track' | 'spool-clicks';

const SHED_TRACK_AT = 0.7;
const SPOOL_CLICKS_AT = 0.85;

/** The state of one Redis, by the probes of this process. */
export interface RedisHealth {
  /** The load at the last probe. While Redis does not answer, it is that of the last answer. */
  load(): Load;
  /** Share of its memory limit that Redis used at the last probe; 1 if it has refused a command for lack of memory since. */
  memoryShare(): number;
  /** Whether Redis is connected and has answered the last probe. */
  isAnswering(): boolean;
  /** Call it with the error of a command that failed or timed out: Redis counts as unavailable until it answers a probe. */
  reportFailure(err: unknown): void;
  /** Call it when Redis refused a command for lack of memory: clicks are spooled until the next probe. */
  reportFull(): void;
  /** Probes Redis now instead of at the next poll. */
  refresh(): Promise<void>;
  /** Whether Redis answers. Until the first successful probe it is awaited for up to the time; afterwards this resolves at once. */
  waitUntilAnswering(milliseconds: number): Promise<boolean>;
  close(): void;
}

function loadOf(share: number): Load {
  if (share >= SPOOL_CLICKS_AT) return 'spool-clicks';
  return share >= SHED_TRACK_AT ? 'shed-track' : 'normal';
}

export interface RedisHealthOptions {
  readonly pollMs: number;
  readonly logger: QueueLogger;
}

const PROBE_ANSWER_MS = 200;
/** Interval of probes while nothing in this process calls `load`. The next call starts a probe. */
const IDLE_POLL_MS = 5000;
const RECOVERY_POLL_MS = 25;

/** Probes the memory use of Redis at an interval: short enough to refuse events in time, and shorter while Redis does not answer. */
export function createRedisHealth(redis: Redis, options: RedisHealthOptions): RedisHealth {
  const warn = throttled((context, message) => options.logger.warn(context, message), 5000);
  const waiters = new Set<() => void>();
  let share = 0;
  let hasAnsweredLast = false;
  let hasNeverAnswered = true;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** Whether the load was read since the last probe. */
  let isUsed = false;
  let isResting = false;

  const answering = () => hasAnsweredLast && redis.status === 'ready';

  const schedule = () => {
    clearTimeout(timer);
    isResting = !isUsed;
    isUsed = false;
    const pollMs = isResting ? Math.max(options.pollMs, IDLE_POLL_MS) : options.pollMs;
    if (!isClosed) timer = setTimeout(probe, answering() ? pollMs : RECOVERY_POLL_MS);
  };

  async function probe(): Promise<void> {
    try {
      if (redis.status !== 'ready') throw new Error(`connection is ${redis.status}`);
      share = memoryShare(await withinMs(redis.info('memory'), PROBE_ANSWER_MS, 'redis probe'));
      if (hasNeverAnswered) options.logger.info({}, 'redis answers');
      hasAnsweredLast = true;
      hasNeverAnswered = false;
      for (const waiter of waiters) waiter();
    } catch {
      hasAnsweredLast = false;
    }
    schedule();
  }

  const onReady = () => void probe();
  redis.on('ready', onReady);
  void probe();

  return {
    load() {
      isUsed = true;
      if (isResting && answering()) {
        isResting = false;
        void probe();
      }
      return loadOf(share);
    },
    memoryShare: () => share,
    isAnswering: answering,
    refresh: probe,

    reportFailure(err) {
      warn({ err }, 'redis fails: clicks go to the spool until it answers');
      if (!hasAnsweredLast) return;
      hasAnsweredLast = false;
      void probe();
    },

    reportFull() {
      warn({}, 'redis is full: clicks go to the spool');
      share = 1;
    },

    async waitUntilAnswering(milliseconds) {
      if (answering() || !hasNeverAnswered) return answering();
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
