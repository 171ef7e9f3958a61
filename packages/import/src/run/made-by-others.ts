import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@waymark/contract';
import { whenUnlocked } from './when-unlocked.js';

const PAUSE_MS = 50;
/** Another process needs less time to create a record, unless its stores are down. */
const WAIT_MS_MAX = 15_000;

/**
 * Waits for a record that another process is creating: its name is taken before the record can be read.
 *
 * @returns undefined when it cannot be found after 15 s
 */
export async function madeByOthers<R>(find: () => Promise<R | undefined>): Promise<R | undefined> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const found = await find();
    if (found !== undefined || performance.now() > untilMs) return found;
    await delay(PAUSE_MS);
  }
}

/** Creates a record, or finds the one that another import creates at the same time. @throws what `make` throws when neither succeeds */
export async function madeOrFound<R>(make: () => Promise<R>, find: () => Promise<R | undefined>): Promise<R> {
  try {
    return await whenUnlocked(make);
  } catch (err) {
    const found = err instanceof ApiError && err.code === 'conflict' ? await madeByOthers(find) : undefined;
    if (found === undefined) throw err;
    return found;
  }
}
