/**
 * Limits the concurrent jobs of each webhook, so that a slow or busy one cannot occupy all places of a worker. Jobs above the
 * limit are postponed, for longer the more jobs are postponed already, so that a long backlog causes few retries.
 */
export interface ConcurrencyLimit {
  /** @returns 0 if the job may run (call `leave` afterwards); otherwise the delay after which to try again, in milliseconds */
  tryEnter(webhookId: string): number;
  leave(webhookId: string): void;
}

const JOBS_PER_WEBHOOK = 4;
const WAIT_MS_MIN = 200;
const WAIT_MS_PER_JOB = 40;
const WAIT_MS_MAX = 20_000;

export function createConcurrencyLimit(): ConcurrencyLimit {
  const active = new Map<string, number>();
  /** Estimate of the postponed jobs: each postponement adds one, also a repeated one, and each job that ends removes one. */
  const postponed = new Map<string, number>();
  return {
    tryEnter(webhookId) {
      const count = active.get(webhookId) ?? 0;
      if (count < JOBS_PER_WEBHOOK) {
        active.set(webhookId, count + 1);
        return 0;
      }
      const waiting = (postponed.get(webhookId) ?? 0) + 1;
      postponed.set(webhookId, waiting);
      return Math.min(WAIT_MS_MIN + waiting * WAIT_MS_PER_JOB, WAIT_MS_MAX);
    },
    leave(webhookId) {
      const count = (active.get(webhookId) ?? 1) - 1;
      if (count > 0) active.set(webhookId, count);
      else active.delete(webhookId);
      const waiting = (postponed.get(webhookId) ?? 0) - 1;
      if (waiting > 0) postponed.set(webhookId, waiting);
      else postponed.delete(webhookId);
    },
  };
}
