import { setTimeout as delay } from 'node:timers/promises';

export interface PollOptions {
  readonly everyMs: number;
  /** Once this has passed, no further attempt begins. Includes the duration of the attempts. */
  readonly withinMs: number;
}

/** Calls `isDone` every `everyMs` until it returns true or `withinMs` have passed. */
export async function pollUntil(isDone: () => Promise<boolean>, { everyMs, withinMs }: PollOptions): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (performance.now() < untilMs) {
    await delay(everyMs);
    if (await isDone()) return;
  }
}
