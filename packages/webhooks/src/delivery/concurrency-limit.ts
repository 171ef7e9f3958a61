import type { WebhookJobData } from './webhook-job.js';

/** The webhook and workspace of a job. */
type JobOwner = Pick<WebhookJobData, 'workspaceId' | 'webhookId'>;

/**
 * Limits the jobs that send at the same time. Each of them holds a slot. A webhook holds at most four slots. A workspace holds at most as
 * many as are free: half of them while it is alone, a third beside another busy one, and so on. Thus a slot is free for a workspace that
 * holds none, however slow the receivers of the others are. Jobs above a limit are postponed to times at which a slot is expected to be
 * free: one after the other, at the intervals at which jobs of this webhook or workspace have ended lately.
 */
export interface ConcurrencyLimit {
  /**
   * @param mayRun whether a job of the webhook may run at all now
   * @returns 0 if the job may run (call `leave` afterwards); otherwise the delay after which to try again, in milliseconds
   */
  tryEnter(owner: JobOwner, mayRun?: boolean): number;
  /** Frees the slot of a job that has ended. @param tookMs how long it ran, in milliseconds */
  leave(owner: JobOwner, tookMs: number): void;
}

/** Jobs that send at the same time in one worker. */
export const SLOTS = 64;
const JOBS_PER_WEBHOOK = 4;
/** Shortest interval between postponed jobs: at a shorter one, a worker could not postpone them all again if the webhook has become slow. */
const INTERVAL_MS_MIN = 5;
/** Shortest delay of a postponed job. */
const WAIT_MS_MIN = 50;
/**
 * Jobs that would be postponed further than this are tried sooner, because the receiver may have become faster. They still keep the shortest
 * interval between each other, so that a long backlog does not return at one moment: a worker must be able to postpone them again.
 */
const FAR_MS = 10_000;
/** Weight of the latest job in the moving average of times. */
const LATEST = 0.2;

/** The jobs of a webhook or a workspace. Times are milliseconds. */
interface Load {
  /** How many run. */
  active: number;
  /** Average time of a job; 0 before the first one has ended. */
  tookMs: number;
  /** When the last postponed job is to try again. */
  lastMs: number;
}

/** Creates the limit of one worker. @param now milliseconds of any clock */
export function createConcurrencyLimit(now: () => number): ConcurrencyLimit {
  /** The loads of webhooks and of workspaces, by id. */
  const loads = new Map<string, Load>();
  let taken = 0;

  function loadOf(id: string): Load {
    const load = loads.get(id) ?? { active: 0, tookMs: 0, lastMs: 0 };
    loads.set(id, load);
    return load;
  }

  function postpone(load: Load): number {
    const nowMs = now();
    const paceMs = Math.max(load.tookMs / Math.max(load.active, JOBS_PER_WEBHOOK), INTERVAL_MS_MIN);
    const farMs = Math.max(load.lastMs + INTERVAL_MS_MIN, nowMs + FAR_MS);
    load.lastMs = Math.min(Math.max(load.lastMs + paceMs, nowMs + WAIT_MS_MIN), farMs);
    return load.lastMs - nowMs;
  }

  function end(id: string, tookMs: number): void {
    const load = loadOf(id);
    load.active -= 1;
    load.tookMs += (tookMs - load.tookMs) * (load.tookMs === 0 ? 1 : LATEST);
    // No job runs or is postponed: evicts the state of an idle webhook or workspace.
    if (load.active === 0 && load.lastMs <= now()) loads.delete(id);
  }

  return {
    tryEnter({ workspaceId, webhookId }, mayRun = true) {
      const workspace = loadOf(workspaceId);
      if (workspace.active >= SLOTS - taken) return postpone(workspace);
      const webhook = loadOf(webhookId);
      if (!mayRun || webhook.active >= JOBS_PER_WEBHOOK) return postpone(webhook);
      taken += 1;
      workspace.active += 1;
      webhook.active += 1;
      return 0;
    },

    leave({ workspaceId, webhookId }, tookMs) {
      taken -= 1;
      end(workspaceId, tookMs);
      end(webhookId, tookMs);
    },
  };
}
