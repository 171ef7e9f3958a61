import { ApiError } from '@waymark/contract';

export interface FairQueueOptions {
  /** Works that run at the same time. */
  readonly runningMax: number;
  /** Of one owner. Less than `runningMax`, so that others find a place at once. */
  readonly runningPerOwnerMax: number;
  /** Works that may wait for a place. */
  readonly waitingMax: number;
  /** Of one owner. */
  readonly waitingPerOwnerMax: number;
  /** Longest wait. */
  readonly waitMsMax: number;
}

/** Keeps the number of works bounded and lets the owners of those that wait take turns, however much each of them has. */
export interface FairQueue {
  /** @throws ApiError 429 when too many wait or the wait is too long; the reason of `signal` when that comes first */
  run<T>(owner: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** What one owner has in hand. Owners with nothing have no line. */
interface Line {
  running: number;
  /** Starts each work that waits, in the order they came. */
  readonly waiting: Set<() => void>;
}

function tooBusy(what: string): ApiError {
  return new ApiError('rate_limit_exceeded', `${what} Please try again.`, { retryAfterSeconds: 1 });
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { runningMax, runningPerOwnerMax, waitingMax, waitingPerOwnerMax, waitMsMax } = options;
  /** In the order of their turns: whose work has begun goes to the end. */
  const lines = new Map<string, Line>();
  let running = 0;
  let waiting = 0;

  function lineOf(owner: string): Line {
    const line = lines.get(owner) ?? { running: 0, waiting: new Set() };
    lines.set(owner, line);
    return line;
  }

  function forgetIdle(owner: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) lines.delete(owner);
  }

  function takePlace(owner: string, line: Line): void {
    line.running += 1;
    running += 1;
    lines.delete(owner);
    lines.set(owner, line);
  }

  /** The work of the owner who has the fewest running; among equals of the one whose last turn was longest ago. */
  function startNext(): void {
    let next: Line | undefined;
    for (const line of lines.values()) {
      const isEligible = line.waiting.size > 0 && line.running < runningPerOwnerMax;
      if (isEligible && (next === undefined || line.running < next.running)) next = line;
    }
    const [start] = next?.waiting ?? [];
    start?.();
  }

  function waitForPlace(owner: string, line: Line, signal: AbortSignal): Promise<void> {
    if (waiting >= waitingMax) throw tooBusy('Too many reads are under way.');
    if (line.waiting.size >= waitingPerOwnerMax) throw tooBusy('Too many reads of this workspace are under way.');
    return new Promise((resolve, reject) => {
      const leave = (end: () => void) => {
        line.waiting.delete(start);
        waiting -= 1;
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        end();
      };
      const start = () =>
        leave(() => {
          takePlace(owner, line);
          resolve();
        });
      const onAbort = () => leave(() => reject(signal.reason));
      const timer = setTimeout(() => leave(() => reject(tooBusy('Too many reads are under way.'))), waitMsMax);
      signal.addEventListener('abort', onAbort, { once: true });
      line.waiting.add(start);
      waiting += 1;
    });
  }

  return {
    async run(owner, work, signal) {
      signal.throwIfAborted();
      const line = lineOf(owner);
      try {
        if (running < runningMax && line.running < runningPerOwnerMax) {
          takePlace(owner, line);
        } else {
          await waitForPlace(owner, line, signal);
        }
      } catch (err) {
        forgetIdle(owner, line);
        throw err;
      }
      try {
        return await work();
      } finally {
        line.running -= 1;
        running -= 1;
        forgetIdle(owner, line);
        startNext();
      }
    },
  };
}
