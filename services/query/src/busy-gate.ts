import { ApiError } from '@waymark/contract';

export interface BusyGateOptions {
  /** Reads that run at the same time. */
  readonly runningMax: number;
  /** Reads that may wait for one of those places. */
  readonly waitingMax: number;
  /** Longest wait. */
  readonly waitMsMax: number;
}

/** Keeps the number of reads in front of ClickHouse bounded; the others wait in the order they came. */
export interface BusyGate {
  /** @throws ApiError 429 when too many wait or the wait is too long; the reason of `signal` when that comes first */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

function tooBusy(): ApiError {
  return new ApiError('rate_limit_exceeded', 'Too many reads are under way. Please try again.', {
    retryAfterSeconds: 1,
  });
}

export function createBusyGate({ runningMax, waitingMax, waitMsMax }: BusyGateOptions): BusyGate {
  let running = 0;
  const waiting: (() => void)[] = [];

  function waitForPlace(signal: AbortSignal): Promise<void> {
    if (waiting.length >= waitingMax) throw tooBusy();
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        waiting.splice(waiting.indexOf(enter), 1);
        stop();
        reject(reason);
      };
      const onAbort = () => leave(signal.reason);
      const timer = setTimeout(() => leave(tooBusy()), waitMsMax);
      const stop = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const enter = () => {
        stop();
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(enter);
    });
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted();
      if (running < runningMax) running += 1;
      else await waitForPlace(signal);
      try {
        return await work();
      } finally {
        // The place goes to the next in line, if there is one: the count stays.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
