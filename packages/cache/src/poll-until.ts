import { setTimeout as delay } from 'node:timers/promises';

export interface PollOptions {
  readonly everyMs: number;
  /** After this no further attempt begins. The time that attempts take counts. */
  readonly withinMs: number;
}

/** Calls `isDone` with pauses in between until it returns true or the time is over. */
export async function pollUntil(isDone: () => Promise<boolean>, { everyMs, withinMs }: PollOptions): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (performance.now() < untilMs) {
    await delay(everyMs);
    if (await isDone()) return;
  }
}
