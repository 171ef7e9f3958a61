import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookJob, WebhookJobSender } from '@waymark/event-queue';
import { NotReplicatedError } from '@waymark/redis';
import type { ReadBodies } from '../events/event-bodies.js';
import { webhookEventIdOf } from '../events/webhook-event-id.js';
import { retryDelayMs } from './retry-schedule.js';
import { jobText, type OutgoingEvent, type WebhookJobData, webhookJobId } from './webhook-job.js';

/** Selects events of a job. They are listed as in the job: by their ids in ClickHouse, or with their bodies. */
function selectEvents({ event, eventIds, events }: WebhookJobData, selected: readonly OutgoingEvent[]) {
  const ids = new Set(selected.map(({ id }) => id));
  return {
    eventIds: eventIds.filter((id) => ids.has(webhookEventIdOf(event, id))),
    events: events.filter(({ id }) => ids.has(id)),
  };
}

/**
 * The retries of failed events; none after the last attempt. Events in ClickHouse are retried in one job, by their ids: with a body for each,
 * a receiver that refuses most of a busy workspace's events would fill Redis, which all workspaces share. Ids are deterministic, so that
 * adding the jobs is idempotent.
 */
export function retriesOf(data: WebhookJobData, failed: readonly OutgoingEvent[]): WebhookJob[] {
  const delayMs = retryDelayMs(data.attempt);
  if (delayMs === undefined) return [];
  const attempt = data.attempt + 1;
  const retry = (name: string, content: Pick<WebhookJobData, 'eventIds' | 'events'>): WebhookJob => ({
    id: webhookJobId(data.webhookId, `${name}${data.replay}-${attempt}`),
    data: jobText({ ...data, attempt, ...content }),
    delayMs,
  });
  const { eventIds, events } = selectEvents(data, failed);
  const ofBodies = events.map((event) => retry(event.id, { eventIds: [], events: [event] }));
  if (eventIds.length === 0) return ofBodies;
  const name = createHash('sha256').update(eventIds.join(' ')).digest('base64url');
  return [retry(name, { eventIds, events: [] }), ...ofBodies];
}

/** A new job with the events that were not tried. Its id is deterministic, so that adding it is idempotent. */
export function remainderOf(data: WebhookJobData, jobId: string, left: readonly OutgoingEvent[]): WebhookJob {
  return { id: `${jobId}-last${left.length}`, data: jobText({ ...data, ...selectEvents(data, left) }) };
}

/** Delay before events are looked up again; it doubles each time, up to five minutes. */
const LOOK_UP_DELAY_MS = 10_000;
const LOOK_UP_DELAY_MS_MAX = 300_000;
const LOOK_UP = 'late-';

/**
 * A new job for events of which it is not known yet whether they exist. Its id is deterministic, so that adding it is idempotent, and
 * differs from that of the job before: Redis keeps finished jobs for a while, and does not add them again.
 */
export function lookUpOf(
  data: WebhookJobData,
  jobId: string,
  { unknown, since }: Pick<ReadBodies, 'unknown' | 'since'>,
): WebhookJob {
  const name = createHash('sha256')
    .update([jobId, ...unknown].join(' '))
    .digest('base64url');
  const round = (data.lookUp?.round ?? 0) + 1;
  return {
    id: webhookJobId(data.webhookId, LOOK_UP + name),
    data: jobText({ ...data, eventIds: [...unknown], events: [], lookUp: { round, since } }),
    delayMs: Math.min(LOOK_UP_DELAY_MS * 2 ** (round - 1), LOOK_UP_DELAY_MS_MAX),
  };
}

/** Sends the jobs that replace other ones. */
export interface FollowUpSender {
  /**
   * Resolves when Redis and its replicas have the jobs. While the replicas do not confirm, the jobs are sent again and again, so that the job
   * which they replace need not run again: it would deliver its events twice, and count their failures twice.
   *
   * @throws NotReplicatedError when the worker closes, the wait was too long, or too many jobs wait
   */
  send(webhookId: string, jobs: readonly WebhookJob[]): Promise<void>;
  /** Whether so many jobs of the webhook wait for replicas that no other one should start: its failures could not be stored either. */
  isFull(webhookId: string): boolean;
}

/** Jobs that wait for replicas at the same time. The worker runs this many jobs more. */
export const CONFIRMING_MAX = 256;
const CONFIRMING_PER_WEBHOOK = 8;
/** Interval at which jobs are sent again. */
const CONFIRM_PAUSE_MS = 1000;
/**
 * Less than the time for which Redis keeps finished jobs, because a job that is sent again after that runs again. With more than eight finished
 * jobs a second, Redis keeps the last five thousand only (webhook-jobs.ts), so one that finishes while the replicas are missing may run twice.
 */
const CONFIRM_MS_MAX = 600_000;

/** Creates a {@link FollowUpSender}. @param isClosing whether to wait no longer */
export function createFollowUpSender(sender: Pick<WebhookJobSender, 'send'>, isClosing: () => boolean): FollowUpSender {
  /** How many jobs wait, by webhook. */
  const confirming = new Map<string, number>();
  let count = 0;
  /** The wait of the latest job. One after the other, because each WAIT command blocks the connection for half a second. */
  let latest: Promise<void> = Promise.resolve();

  function add(webhookId: string, change: 1 | -1): void {
    const next = (confirming.get(webhookId) ?? 0) + change;
    count += change;
    if (next === 0) confirming.delete(webhookId);
    else confirming.set(webhookId, next);
  }

  /** @returns the error if the replicas have not confirmed */
  function trySend(jobs: readonly WebhookJob[]): Promise<NotReplicatedError | undefined> {
    return sender.send(jobs).then(
      () => undefined,
      (err: unknown) => {
        if (err instanceof NotReplicatedError) return err;
        throw err;
      },
    );
  }

  async function sendAgain(jobs: readonly WebhookJob[], first: NotReplicatedError, untilMs: number): Promise<void> {
    let failure: NotReplicatedError | undefined = first;
    while (!isClosing() && performance.now() < untilMs) {
      failure = await trySend(jobs);
      if (failure === undefined) return;
      await delay(CONFIRM_PAUSE_MS);
    }
    throw failure;
  }

  return {
    async send(webhookId, jobs) {
      const failure = await trySend(jobs);
      if (failure === undefined) return;
      if (count >= CONFIRMING_MAX) throw failure;
      const untilMs = performance.now() + CONFIRM_MS_MAX;
      const confirmed = latest.then(() => sendAgain(jobs, failure, untilMs));
      latest = confirmed.catch(() => undefined);
      add(webhookId, 1);
      try {
        await confirmed;
      } finally {
        add(webhookId, -1);
      }
    },

    isFull: (webhookId) => (confirming.get(webhookId) ?? 0) >= CONFIRMING_PER_WEBHOOK,
  };
}
