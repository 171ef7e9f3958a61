import type { ClickOutcome } from './batch-items.js';
import type { ClickGate } from './click-gate.js';
import { pause } from './deadline.js';

/** Waits for clicks that another process is recording right now. */
export interface PendingClicks {
  /** The final click id of the claim, or undefined when it did not become final in time. */
  wait(claim: string): Promise<string | undefined>;
}

const READ_INTERVAL_MS = 5;

/** One reader for everyone who waits: a single call each few milliseconds, none when nobody waits. */
export function createPendingClicks(gate: ClickGate, now: () => number, waitMs: number): PendingClicks {
  const waiting = new Map<string, { readonly until: number; readonly settle: ((clickId?: string) => void)[] }>();
  let isReading = false;

  const finish = (claim: string, clickId?: string) => {
    const entry = waiting.get(claim);
    waiting.delete(claim);
    for (const settle of entry?.settle ?? []) settle(clickId);
  };

  const readAll = async () => {
    if (isReading) return;
    isReading = true;
    while (waiting.size > 0) {
      await pause(READ_INTERVAL_MS);
      const claims = [...waiting.keys()];
      const outcomes = await gate.read(claims, waitMs).catch((): (ClickOutcome | undefined)[] => []);
      claims.forEach((claim, index) => {
        const outcome = outcomes[index];
        if (outcome?.state === 'known') finish(claim, outcome.clickId);
        else if (now() >= (waiting.get(claim)?.until ?? 0)) finish(claim);
      });
    }
    isReading = false;
  };

  return {
    wait(claim) {
      return new Promise((resolve) => {
        const entry = waiting.get(claim) ?? { until: now() + waitMs, settle: [] };
        entry.settle.push(resolve);
        waiting.set(claim, entry);
        void readAll();
      });
    },
  };
}
