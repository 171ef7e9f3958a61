import { setTimeout as delay } from 'node:timers/promises';

export interface LookAgainOptions {
  readonly everyMs: number;
  /** The time that looking takes is part of it. */
  readonly withinMs: number;
}

/**
 * Looks, after a pause and again and again, for what is about to be written.
 *
 * @param look whether all is there
 */
export async function lookAgain(look: () => Promise<boolean>, { everyMs, withinMs }: LookAgainOptions): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (performance.now() < untilMs) {
    await delay(everyMs);
    if (await look()) return;
  }
}
