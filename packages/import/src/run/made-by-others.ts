import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@waymark/contract';
import { whenUnlocked } from './when-unlocked.js';

const PAUSE_MS = 50;
/** A process that makes a record needs less, unless its stores are away. */
const WAIT_MS_MAX = 15_000;

/**
 * The record that another process has made, or is about to finish: its name is taken before it can be read.
 *
 * @returns undefined when there is none after 15 s
 */
export async function madeByOthers<R>(find: () => Promise<R | undefined>): Promise<R | undefined> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const found = await find();
    if (found !== undefined || performance.now() > untilMs) return found;
    await delay(PAUSE_MS);
  }
}

/** Makes a record, or finds the one that another import makes at the same time. @throws what `make` throws when there is none */
export async function madeOrFound<R>(make: () => Promise<R>, find: () => Promise<R | undefined>): Promise<R> {
  try {
    return await whenUnlocked(make);
  } catch (err) {
    const found = err instanceof ApiError && err.code === 'conflict' ? await madeByOthers(find) : undefined;
    if (found === undefined) throw err;
    return found;
  }
}
