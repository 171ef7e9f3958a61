import { setTimeout as delay } from 'node:timers/promises';

/** Options of {@link pollUntil}. */
export interface PollOptions {
  /** Delay before each attempt, also before the first. */
  readonly everyMs: number;
  /** Limit on the whole wait, with the duration of the attempts: once it has passed, one attempt at most is still made. */
  readonly withinMs: number;
}

/** Calls `isDone` every `everyMs` until it resolves with true or `withinMs` have passed. @throws the error of `isDone` */
export async function pollUntil(isDone: () => Promise<boolean>, { everyMs, withinMs }: PollOptions): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (performance.now() < untilMs) {
    await delay(everyMs);
    if (await isDone()) return;
  }
}
