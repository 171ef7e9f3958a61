/**
 * Keeps a webhook that is slow, or told of very much, from taking all the places of a worker. What comes while a webhook has
 * its share is sent away for as long as it takes those in front, so that a long backlog costs little.
 */
export interface Turns {
  /** @returns 0 when it is the webhook's turn, to be followed by `leave`; else how many milliseconds to wait */
  enter(webhookId: string): number;
  leave(webhookId: string): void;
}

const JOBS_PER_WEBHOOK = 4;
const WAIT_MS_MIN = 200;
const WAIT_MS_PER_JOB = 40;
const WAIT_MS_MAX = 20_000;

export function createTurns(): Turns {
  const active = new Map<string, number>();
  const sentAway = new Map<string, number>();
  return {
    enter(webhookId) {
      const count = active.get(webhookId) ?? 0;
      if (count < JOBS_PER_WEBHOOK) {
        active.set(webhookId, count + 1);
        return 0;
      }
      const waiting = (sentAway.get(webhookId) ?? 0) + 1;
      sentAway.set(webhookId, waiting);
      return Math.min(WAIT_MS_MIN + waiting * WAIT_MS_PER_JOB, WAIT_MS_MAX);
    },
    leave(webhookId) {
      const count = (active.get(webhookId) ?? 1) - 1;
      if (count > 0) active.set(webhookId, count);
      else active.delete(webhookId);
      const waiting = (sentAway.get(webhookId) ?? 0) - 1;
      if (waiting > 0) sentAway.set(webhookId, waiting);
      else sentAway.delete(webhookId);
    },
  };
}
