import { setTimeout as delay } from 'node:timers/promises';
import type { JobSlot } from '@waymark/jobs';

/** During a shorter wait an import keeps its slot, because it might have to wait long to get it back. */
const LENT_MS_MIN = 5_000;
/** The same for shorter waits together, so that a source which is always slow does not keep the slot. */
const WAITED_MS_MAX = 60_000;
/** After this time with a slot an import offers it to others, also if its source answers at once, for ever. */
const TURN_MS = 10 * 60_000;

/** Lends the slot of one import while it does not need it, or has had it for long. The import continues when it has a slot again. */
export interface SlotTurns {
  /** Runs a pause of that many milliseconds. @throws what `pause` throws; the reason of the signal */
  during(ms: number, pause: () => Promise<void>): Promise<void>;
  /** Runs a request to the source, for as long as that takes. @throws what `request` throws; the reason of the signal */
  duringRequest<T>(request: () => Promise<T>): Promise<T>;
  /** Offers the slot to others if the import has had it for long. @throws the reason of the signal */
  offer(): Promise<void>;
}

/** Whether `work` ends within that time. */
async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = new AbortController();
  const timeOver = delay(ms, false, { signal: ended.signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), timeOver]);
  ended.abort();
  return isDone;
}

/** @param slot of the import @param signal aborts when the import must stop */
export function createSlotTurns(slot: Pick<JobSlot, 'lend'>, signal: AbortSignal, now: () => number): SlotTurns {
  /** Since the import has the slot, epoch milliseconds. */
  let sinceMs = now();
  /** How long the import has waited since then. */
  let waitedMs = 0;
  const isOver = () => now() - sinceMs > TURN_MS;

  async function lend(work: () => Promise<unknown>): Promise<void> {
    await slot.lend(work, signal);
    sinceMs = now();
    waitedMs = 0;
  }

  return {
    async during(ms, pause) {
      if (isOver() || ms >= LENT_MS_MIN || waitedMs + ms > WAITED_MS_MAX) return lend(pause);
      waitedMs += ms;
      return pause();
    },

    async duringRequest(request) {
      signal.throwIfAborted();
      const startMs = now();
      // Settled, because a slot that was lent for work that fails is not taken again.
      const settled = Promise.allSettled([request()]);
      const keptMs = isOver() ? 0 : Math.min(LENT_MS_MIN, WAITED_MS_MAX - waitedMs);
      if (keptMs > 0 && (await endsWithin(settled, keptMs))) waitedMs += now() - startMs;
      else await lend(() => settled);
      const [result] = await settled;
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },

    async offer() {
      if (isOver()) await lend(async () => undefined);
    },
  };
}
