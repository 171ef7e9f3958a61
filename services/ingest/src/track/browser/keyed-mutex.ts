import { ApiError } from '@waymark/contract';

/** Tasks that run one after another if they have a key in common. */
export interface KeyedMutex {
  /**
   * Runs the task after all earlier tasks that have any of the keys.
   *
   * @returns its result, or rejects as it does
   * @throws ApiError rate_limit_exceeded, without running it, when {@link TASKS_MAX} tasks with one of the keys have not ended
   */
  run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T>;
}

/** Bounds the memory of waiting tasks, and the wait of the last one. */
const TASKS_MAX = 30;

interface Queue {
  /** The end of the last task. */
  readonly last: Promise<void>;
  readonly tasks: number;
}

/** Creates the mutex of one process. */
export function createKeyedMutex(): KeyedMutex {
  const queues = new Map<string, Queue>();

  function leave(key: string): void {
    const queue = queues.get(key);
    if (queue === undefined) return;
    if (queue.tasks === 1) queues.delete(key);
    else queues.set(key, { ...queue, tasks: queue.tasks - 1 });
  }

  return {
    async run(keys, task) {
      const joined = keys.map((key) => queues.get(key));
      if (joined.some((queue) => queue !== undefined && queue.tasks >= TASKS_MAX)) {
        throw new ApiError('rate_limit_exceeded', 'Too many calls for one customer or invoice at once. Retry later.', {
          retryAfterSeconds: 1,
        });
      }
      let end: () => void = () => undefined;
      const last = new Promise<void>((resolve) => {
        end = resolve;
      });
      // In all queues at once, so that tasks with several keys cannot wait for each other.
      for (const [index, key] of keys.entries()) queues.set(key, { last, tasks: (joined[index]?.tasks ?? 0) + 1 });
      await Promise.all(joined.map((queue) => queue?.last));
      try {
        return await task();
      } finally {
        keys.forEach(leave);
        end();
      }
    },
  };
}
