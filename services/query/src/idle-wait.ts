import { setTimeout as delay } from 'node:timers/promises';

/** Counts requests that run, so that other work can wait until none does. */
export interface IdleWait {
  /** Call it when a request begins. @returns the function to call at its end; idempotent */
  begin(): () => void;
  /** Whether nothing has run for {@link QUIET_MS}. */
  isQuiet(): boolean;
  /** Resolves when nothing runs, at the latest after `msMax`. */
  untilIdle(msMax: number): Promise<void>;
  /** Resolves when nothing has run for {@link QUIET_MS}, at the latest after `msMax`. */
  untilQuiet(msMax: number): Promise<void>;
}

/** Longer than the pause of a client that sends its next request after each response. */
const QUIET_MS = 50;

export function createIdleWait(): IdleWait {
  const running = new Set<symbol>();
  const waiting = new Set<() => void>();
  let endedAt = Number.NEGATIVE_INFINITY;
  const isQuiet = () => running.size === 0 && performance.now() - endedAt >= QUIET_MS;
  const untilIdle = async (msMax: number) => {
    if (running.size === 0) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        waiting.delete(wake);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(wake, msMax);
      waiting.add(wake);
    });
  };
  return {
    begin() {
      const one = Symbol('running');
      running.add(one);
      return () => {
        if (!running.delete(one) || running.size > 0) return;
        endedAt = performance.now();
        for (const wake of waiting) wake();
      };
    },
    isQuiet,
    untilIdle,
    async untilQuiet(msMax) {
      const until = performance.now() + msMax;
      for (;;) {
        const left = until - performance.now();
        if (isQuiet() || left <= 0) return;
        await untilIdle(left);
        const pause = Math.min(QUIET_MS - (performance.now() - endedAt), until - performance.now());
        if (pause > 0) await delay(Math.ceil(pause));
      }
    },
  };
}
