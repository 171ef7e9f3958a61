import type { Catalog } from '@waymark/catalog';
import { type QueueLogger, throttled, type WebhookJob } from '@waymark/event-queue';
import type { EventBodies, ReadBodies } from '../events/event-bodies.js';
import { type AttemptDeps, attemptDelivery, type SignedWebhook } from './attempt.js';
import type { DeliveryAttempt, DeliveryLog } from './delivery-log.js';
import { isErasedEvent } from './erased-events.js';
import type { FailureCounts } from './failure-counts.js';
import { type FollowUpSender, lookUpOf, remainderOf, retriesOf } from './follow-up-jobs.js';
import { includesWebhooks, isOverQuota } from './plan-check.js';
import { FAILURES_MAX, isSuccess, isWarningDue } from './retry-schedule.js';
import type { WaitingBodies, WaitingIds } from './waiting-jobs.js';
import type { OutgoingEvent, WebhookJobData } from './webhook-job.js';

/** Dependencies of {@link createDeliverJob}. */
export interface DeliverJobDeps extends AttemptDeps {
  readonly catalog: Catalog;
  readonly bodies: EventBodies;
  readonly log: DeliveryLog;
  readonly failures: FailureCounts;
  readonly sender: Pick<FollowUpSender, 'send'>;
  readonly waiting: Pick<WaitingBodies, 'add' | 'drop'>;
  readonly waitingIds: Pick<WaitingIds, 'add'>;
  readonly logger: QueueLogger;
  /** True when no further attempt may start. */
  readonly isClosing: () => boolean;
}

/** Requests of one job that run at the same time. */
const REQUESTS_PER_JOB = 8;
/** A job that takes longer moves its remaining events to a new job, which queues behind those of other webhooks. */
const JOB_MS_MAX = 20_000;
/** Ids in a log line about events that were not found, and the interval of these lines. */
const [IDS_LOGGED, LOG_INTERVAL_MS] = [10, 10_000];

/** State of one run of a job. Its webhook is the record that was read when the run started. */
interface Run extends SignedWebhook {
  readonly data: WebhookJobData;
  /** Events whose attempt has failed. They are retried unless the webhook is disabled or deleted. */
  readonly failed: OutgoingEvent[];
  /** Rows of the log that are being written. */
  readonly logged: Promise<void>[];
  /** Whether the webhook is disabled or deleted: then the job's remaining events are dropped. */
  isStopped: boolean;
  /** Whether the webhook was changed: then the job's remaining events go to a new job, which reads the webhook again. */
  isOutdated: boolean;
  /** Whether the count of consecutive failures was zero when it was last read, so that a success need not reset it. */
  hasNoFailures: boolean;
}

/** Creates the function that delivers the events of a job, logs the attempts, queues retries and disables failing webhooks. */
export function createDeliverJob(deps: DeliverJobDeps) {
  const { catalog, bodies, log, failures, sender, waiting, waitingIds, logger, now, isClosing } = deps;
  const warn = logger.warn.bind(logger);
  const warnOfAbsent = throttled(warn, LOG_INTERVAL_MS);
  const warnOfUnknown = throttled(warn, LOG_INTERVAL_MS);

  /**
   * Disables the webhook. Any process that reads a full count does this, because the one that reached the limit may have been
   * killed before it could. A webhook that was changed meanwhile has a new count, and is not disabled: what is left of the job goes to it.
   */
  async function disable(run: Run, consecutiveFailures: number): Promise<void> {
    if (run.isStopped) return;
    run.isStopped = true;
    const { id, workspaceId, updatedAt } = run.webhook;
    logger.warn(
      { webhookId: id, workspaceId, consecutiveFailures },
      'disabling a webhook after too many consecutive failures',
    );
    const disabledAt = new Date(now()).toISOString();
    const updated = await catalog.webhooks.update(workspaceId, id, (record) =>
      record.updatedAt === updatedAt ? { disabledAt, consecutiveFailures } : {},
    );
    if (updated.disabledAt === null) {
      run.isStopped = false;
      run.isOutdated = true;
      return;
    }
    // If this fails, the waiting deliveries count until their next attempt.
    await waiting
      .drop(workspaceId, id, () => catalog.webhooks.get(workspaceId, id))
      .catch((err: unknown) => {
        logger.debug({ err, webhookId: id }, 'the waiting deliveries of a disabled webhook could not be removed');
      });
  }

  /** Called before each attempt, because the webhook can be changed, or disabled by another process, while a job runs. */
  async function mayContinue(run: Run): Promise<boolean> {
    const { id, workspaceId, updatedAt } = run.webhook;
    const [webhook, count] = await Promise.all([catalog.webhooks.get(workspaceId, id), failures.read(run.webhook)]);
    if (count > 0) run.hasNoFailures = false;
    if (webhook === undefined || webhook.disabledAt !== null) run.isStopped = true;
    else if (webhook.updatedAt !== updatedAt) run.isOutdated = true;
    else if (count >= FAILURES_MAX) await disable(run, count);
    return !run.isStopped && !run.isOutdated;
  }

  /** The events of people who were not erased since the job was planned. */
  async function notErased({ workspaceId }: WebhookJobData, events: readonly OutgoingEvent[]) {
    const people = events.length === 0 ? undefined : await catalog.erasures.people.current();
    return people === undefined ? events : events.filter((event) => !isErasedEvent(people, workspaceId, event));
  }

  /** Whether the event's person was not erased since the job has started: it may run for twenty seconds. */
  async function isDue({ data }: Run, event: OutgoingEvent): Promise<boolean> {
    return (await notErased(data, [event])).length > 0;
  }

  /** Counts a failed attempt, and disables the webhook when the count reaches its limit. */
  async function recordFailure(run: Run): Promise<void> {
    run.hasNoFailures = false;
    const count = await failures.add(run.webhook);
    const { id: webhookId, workspaceId } = run.webhook;
    if (isWarningDue(count)) logger.warn({ webhookId, workspaceId, failures: count }, 'a webhook fails repeatedly');
    if (count >= FAILURES_MAX) await disable(run, count);
  }

  /** Resets the count of consecutive failures. */
  async function recordSuccess(run: Run): Promise<void> {
    if (run.hasNoFailures) return;
    run.hasNoFailures = true;
    await failures.reset(run.webhook);
  }

  /** Adds a row to the log. Its errors are only logged: they must neither prevent a delivery nor repeat it. */
  function logAttempt(run: Run, attempt: DeliveryAttempt): void {
    const { webhookId, eventId } = attempt;
    const logged = log.add(attempt).catch((err: unknown) => {
      logger.error({ err, webhookId, eventId }, 'a delivery could not be logged');
    });
    run.logged.push(logged);
  }

  /** Logs events that are not delivered, or not yet, because they were not found. */
  function logMissing(
    { webhookId, workspaceId, event }: WebhookJobData,
    { absent, unknown, cause }: Omit<ReadBodies, 'events'>,
  ) {
    const contextOf = (ids: readonly string[]) => ({
      webhookId,
      workspaceId,
      event,
      events: ids.length,
      eventIds: ids.slice(0, IDS_LOGGED),
    });
    if (absent.length > 0) warnOfAbsent(contextOf(absent), 'events of a webhook are not stored, and are not delivered');
    if (unknown.length > 0) {
      warnOfUnknown(
        { err: cause, ...contextOf(unknown) },
        'events of a webhook are delivered later: no replica of ClickHouse that answers has them, and none is complete',
      );
    }
  }

  /** Counts jobs that replace this one. Without a bound, because it is counted itself until it has ended. */
  async function countWaiting({ workspaceId, webhookId, events }: WebhookJobData, jobs: readonly WebhookJob[]) {
    if (events.length > 0) {
      await waiting.add(workspaceId, jobs);
      return;
    }
    // Uncounted jobs only let more jobs be queued later; running this again would send its events twice.
    await waitingIds.add(workspaceId, jobs).catch((err: unknown) => {
      logger.debug({ err, webhookId }, 'the following jobs of a webhook job could not be counted');
    });
  }

  async function deliverOne(run: Run, event: OutgoingEvent): Promise<void> {
    const attempt = await attemptDelivery(deps, run, event, run.data);
    logAttempt(run, attempt);
    if (isSuccess(attempt.status)) return recordSuccess(run);
    run.failed.push(event);
    if (!run.isStopped) await recordFailure(run);
  }

  /** @returns the events that were not tried */
  async function deliverAll(run: Run, events: readonly OutgoingEvent[]): Promise<readonly OutgoingEvent[]> {
    const untilMs = performance.now() + JOB_MS_MAX;
    let next = 0;
    const deliverNext = async () => {
      while (next < events.length && (await mayContinue(run)) && performance.now() < untilMs && !isClosing()) {
        const event = events[next];
        next += 1;
        if (event !== undefined && (await isDue(run, event))) await deliverOne(run, event);
      }
    };
    await Promise.all(Array.from({ length: Math.min(REQUESTS_PER_JOB, events.length) }, deliverNext));
    return events.slice(next);
  }

  /**
   * Resolves when every event of the job was tried once, or moved to another job.
   *
   * @param onSent called when all requests have ended: what follows is the log, which keeps no receiver busy, and the wait for replicas
   * @throws when a store is unavailable; the job must be run again
   */
  return async function deliver(data: WebhookJobData, jobId: string, onSent: () => void): Promise<void> {
    const webhook = await catalog.webhooks.get(data.workspaceId, data.webhookId);
    if (webhook === undefined || webhook.disabledAt !== null) return;
    if (!(await includesWebhooks(catalog, data.workspaceId))) return;
    // A replay was requested by hand, and its events were sent to this webhook before.
    if (data.replay === '') {
      if (!webhook.triggers.includes(data.event)) return;
      if (data.event === 'link.clicked' && (await isOverQuota(catalog, data.workspaceId))) return;
    }
    const { events: read, ...missing } = await bodies.read(webhook, data.event, data.eventIds, data.lookUp?.since);
    logMissing(data, missing);
    const events = [...(await notErased(data, data.events)), ...read];
    const secret = catalog.webhooks.secretOf(webhook);
    const states = { isStopped: false, isOutdated: false, hasNoFailures: true };
    const run: Run = { webhook, secret, data, failed: [], logged: [], ...states };
    const left = await deliverAll(run, events);
    onSent();
    await Promise.all(run.logged);
    if (run.isStopped) return;
    const [failed, due] = await Promise.all([notErased(data, run.failed), notErased(data, left)]);
    const retries = retriesOf(data, failed);
    const jobs = [
      ...retries,
      ...(due.length === 0 ? [] : [remainderOf(data, jobId, due)]),
      ...(missing.unknown.length === 0 ? [] : [lookUpOf(data, jobId, missing)]),
    ];
    if (jobs.length === 0) return;
    await countWaiting(data, jobs);
    await sender.send(data.webhookId, jobs);
  };
}
