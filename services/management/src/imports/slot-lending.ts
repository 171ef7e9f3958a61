import type { JobSlot } from '@waymark/jobs';

/** During a shorter wait an import keeps its slot, because it might have to wait long to get it back. */
const LENT_MS_MIN = 5_000;
/** After this time with a slot an import lends it during short waits too, so that a source which requires them again and again does not keep it. */
const LENT_AFTER_MS = 60_000;
/** After this time with a slot an import offers it to others, also if its source answers at once, for ever. */
const OFFERED_AFTER_MS = 10 * 60_000;

/**
 * Lends the slot of one import between its requests, when it waits or has had it for long; the import continues when it has a slot again. The
 * slot is never lent during a request, so a process receives as many answers at a time as it has slots.
 */
export interface SlotLending {
  /** Runs a pause of that many milliseconds. @throws what `pause` throws; the reason of the signal */
  during(ms: number, pause: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Whether the import has had its slot for so long that it must offer it. */
  isDue(): boolean;
  /** Offers the slot to others. @throws the reason of the signal */
  offer(signal: AbortSignal): Promise<void>;
}

/** @param slot of the import */
export function createSlotLending(slot: Pick<JobSlot, 'lend'>, now: () => number): SlotLending {
  /** Since the import has the slot, epoch milliseconds. */
  let sinceMs = now();

  async function lend(pause: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await slot.lend(pause, signal);
    sinceMs = now();
  }

  /** Whether the import has had its slot for longer than `ms`. Also true after the clock was set back. */
  function isHeldFor(ms: number): boolean {
    const heldMs = now() - sinceMs;
    return heldMs < 0 || heldMs > ms;
  }

  return {
    during: (ms, pause, signal) => (ms >= LENT_MS_MIN || isHeldFor(LENT_AFTER_MS) ? lend(pause, signal) : pause()),
    isDue: () => isHeldFor(OFFERED_AFTER_MS),
    offer: (signal) => lend(async () => undefined, signal),
  };
}
