import { setTimeout as delay } from 'node:timers/promises';

/** Keeps track of the foreground tasks that run, so that background work can wait for the pauses between them. */
export interface IdleWait {
  /** Call it when a foreground task begins. @returns the function to call when it ends; further calls have no effect */
  begin(): () => void;
  /** Whether no foreground task has run for {@link QUIET_MS}. */
  isQuiet(): boolean;
  /** Resolves when no foreground task runs, at the latest after `msMax`. */
  untilIdle(msMax: number): Promise<void>;
  /** Resolves when no foreground task has run for {@link QUIET_MS}, at the latest after `msMax`. */
  untilQuiet(msMax: number): Promise<void>;
}

/** Longer than the pause of a client that sends its next request as soon as it has a response. */
const QUIET_MS = 50;

/** Creates a wait for which no foreground task runs yet. */
export function createIdleWait(): IdleWait {
  const running = new Set<symbol>();
  const waiting = new Set<() => void>();
  let endedMs = Number.NEGATIVE_INFINITY;
  const isQuiet = () => running.size === 0 && performance.now() - endedMs >= QUIET_MS;
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
      const task = Symbol('running');
      running.add(task);
      return () => {
        if (!running.delete(task) || running.size > 0) return;
        endedMs = performance.now();
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
        const pause = Math.min(QUIET_MS - (performance.now() - endedMs), until - performance.now());
        if (pause > 0) await delay(Math.ceil(pause));
      }
    },
  };
}
