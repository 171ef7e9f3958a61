/**
 * Limits the jobs of each webhook that send at the same time, so that a slow or busy one cannot occupy all places of a worker. Jobs above the limit are
 * postponed to times at which a place is expected to be free: one after the other, as far apart as jobs of this webhook have ended lately.
 */
export interface ConcurrencyLimit {
  /** @returns 0 if the job may run (call `leave` afterwards); otherwise the delay after which to try again, in milliseconds */
  tryEnter(webhookId: string): number;
  /** @param tookMs how long the job ran */
  leave(webhookId: string, tookMs: number): void;
}

const JOBS_PER_WEBHOOK = 4;
/** Shorter intervals would bring back more jobs than a worker can postpone again, if the webhook has become slow. */
const INTERVAL_MS_MIN = 5;
const WAIT_MS_MIN = 50;
const WAIT_MS_MAX = 20_000;
/** Weight of the latest job in the average time. */
const LATEST = 0.2;

interface Load {
  active: number;
  /** Average time of a job; 0 before the first one has ended. */
  tookMs: number;
  /** When the last postponed job is to try again. */
  lastMs: number;
}

/** @param now milliseconds of any clock */
export function createConcurrencyLimit(now: () => number): ConcurrencyLimit {
  const loads = new Map<string, Load>();

  function loadOf(webhookId: string): Load {
    const load = loads.get(webhookId) ?? { active: 0, tookMs: 0, lastMs: 0 };
    loads.set(webhookId, load);
    return load;
  }

  return {
    tryEnter(webhookId) {
      const load = loadOf(webhookId);
      if (load.active < JOBS_PER_WEBHOOK) {
        load.active += 1;
        return 0;
      }
      const nowMs = now();
      const intervalMs = Math.max(load.tookMs / JOBS_PER_WEBHOOK, INTERVAL_MS_MIN);
      const atMs = Math.max(load.lastMs + intervalMs, nowMs + WAIT_MS_MIN);
      load.lastMs = Math.min(atMs, nowMs + WAIT_MS_MAX);
      return load.lastMs - nowMs;
    },

    leave(webhookId, tookMs) {
      const load = loadOf(webhookId);
      load.active -= 1;
      load.tookMs += (tookMs - load.tookMs) * (load.tookMs === 0 ? 1 : LATEST);
      // No job runs or is postponed: evicts the state of an idle webhook.
      if (load.active === 0 && load.lastMs <= now()) loads.delete(webhookId);
    },
  };
}
