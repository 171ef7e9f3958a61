import { ApiError } from '@waymark/contract';

/** Tasks that run one after another if they have a name in common. */
export interface Turns {
  /**
   * Runs the task after all earlier tasks that have any of the names.
   *
   * @returns its result, or rejects as it does
   * @throws ApiError rate_limit_exceeded, without running it, when {@link TASKS_MAX} tasks with one of the names have not ended
   */
  run<T>(names: readonly string[], task: () => Promise<T>): Promise<T>;
}

/** Bounds the memory of waiting tasks, and the wait of the last one. */
const TASKS_MAX = 30;

interface Queue {
  /** The end of the last task. */
  readonly last: Promise<void>;
  readonly tasks: number;
}

/** Creates the turns of one process. */
export function createTurns(): Turns {
  const queues = new Map<string, Queue>();

  function leave(name: string): void {
    const queue = queues.get(name);
    if (queue === undefined) return;
    if (queue.tasks === 1) queues.delete(name);
    else queues.set(name, { ...queue, tasks: queue.tasks - 1 });
  }

  return {
    async run(names, task) {
      const joined = names.map((name) => queues.get(name));
      if (joined.some((queue) => queue !== undefined && queue.tasks >= TASKS_MAX)) {
        throw new ApiError('rate_limit_exceeded', 'Too many calls for one customer or invoice at once. Retry later.', {
          retryAfterSeconds: 1,
        });
      }
      let end: () => void = () => undefined;
      const last = new Promise<void>((resolve) => {
        end = resolve;
      });
      // In all queues at once, so that tasks with several names cannot wait for each other.
      for (const [index, name] of names.entries()) queues.set(name, { last, tasks: (joined[index]?.tasks ?? 0) + 1 });
      await Promise.all(joined.map((queue) => queue?.last));
      try {
        return await task();
      } finally {
        names.forEach(leave);
        end();
      }
    },
  };
}
