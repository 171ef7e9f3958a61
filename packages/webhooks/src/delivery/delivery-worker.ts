import type { Catalog } from '@waymark/catalog';
import type { QueueLogger, WebhookJob, WebhookJobSender } from '@waymark/event-queue';
import type { EventBodies } from '../events/event-bodies.js';
import { eventIdOf } from '../events/event-id.js';
import { type AttemptParts, attemptDelivery, type SignedWebhook } from './attempt.js';
import type { Delivery, DeliveryLog } from './delivery-log.js';
import type { FailureCounts } from './failure-counts.js';
import { FAILURES_MAX, isNoticed, isSuccess, retryDelayMs } from './retry-schedule.js';
import { isUsedUp } from './usage-gate.js';
import { jobText, type ToldEvent, type WebhookJobData, webhookJobId } from './webhook-job.js';

export interface DelivererParts extends AttemptParts {
  readonly catalog: Catalog;
  readonly bodies: EventBodies;
  readonly log: DeliveryLog;
  readonly failures: FailureCounts;
  readonly sender: WebhookJobSender;
  readonly logger: QueueLogger;
  /** True when no further attempt is to begin. */
  readonly isClosing: () => boolean;
}

/** Requests to one webhook at once, of one job. */
const REQUESTS_PER_JOB = 8;
/** A job that takes longer leaves its rest to another, behind those of other webhooks. */
const JOB_MS_MAX = 20_000;

/** What one run of a job came to. The webhook is as it was when the run began. */
interface Run extends SignedWebhook {
  readonly data: WebhookJobData;
  readonly retries: WebhookJob[];
  /** Log lines under way. */
  readonly logged: Promise<void>[];
  /** The webhook is disabled or gone: nothing of the job is delivered any more. */
  isGivenUp: boolean;
  /** The webhook was changed: what is left is for a run that knows it as it is. */
  isOutdated: boolean;
  /** Whether the failures in a row are known to be none. */
  isClean: boolean;
}

function retryOf({ data }: Run, told: ToldEvent): WebhookJob | undefined {
  const delayMs = retryDelayMs(data.attempt);
  if (delayMs === undefined) return undefined;
  const attempt = data.attempt + 1;
  return {
    id: webhookJobId(data.webhookId, `${told.id}${data.replay}-${attempt}`),
    data: jobText({ ...data, attempt, eventIds: [], told: [told] }),
    delayMs,
  };
}

/** What was not begun, as a job of its own: the same rest has the same id. */
function restOf({ data }: Run, jobId: string, left: readonly ToldEvent[]): WebhookJob {
  const ids = new Set(left.map(({ id }) => id));
  const eventIds = data.eventIds.filter((id) => ids.has(eventIdOf(data.event, id)));
  const told = data.told.filter(({ id }) => ids.has(id));
  return { id: `${jobId}-last${left.length}`, data: jobText({ ...data, eventIds, told }) };
}

/** Delivers what a job names and sees to what follows: the log, further attempts, a webhook that fails too often. */
export function createDeliverer(parts: DelivererParts) {
  const { catalog, bodies, log, failures, sender, logger, now, isClosing } = parts;

  /**
   * Whoever sees a full count disables the webhook: the one who filled it may have been killed before he could. A webhook that
   * was changed meanwhile has another count.
   */
  async function giveUp(run: Run, consecutiveFailures: number): Promise<void> {
    if (run.isGivenUp) return;
    run.isGivenUp = true;
    const { id, workspaceId, updatedAt } = run.webhook;
    logger.warn({ webhookId: id, workspaceId, consecutiveFailures }, 'a webhook fails too often and is disabled');
    const disabledAt = new Date(now()).toISOString();
    await catalog.webhooks.update(workspaceId, id, (record) =>
      record.updatedAt === updatedAt ? { disabledAt, consecutiveFailures } : {},
    );
  }

  /** Before each attempt: others fail, too, and owners change their minds while a job is under way. */
  async function mayGoOn(run: Run): Promise<boolean> {
    const { id, workspaceId, updatedAt } = run.webhook;
    const [webhook, count] = await Promise.all([catalog.webhooks.get(workspaceId, id), failures.read(run.webhook)]);
    if (count > 0) run.isClean = false;
    if (webhook === undefined || webhook.disabledAt !== null) run.isGivenUp = true;
    else if (webhook.updatedAt !== updatedAt) run.isOutdated = true;
    else if (count >= FAILURES_MAX) await giveUp(run, count);
    return !run.isGivenUp && !run.isOutdated;
  }

  async function noteFailure(run: Run, told: ToldEvent): Promise<void> {
    run.isClean = false;
    const count = await failures.add(run.webhook);
    const { id: webhookId, workspaceId } = run.webhook;
    if (isNoticed(count)) logger.warn({ webhookId, workspaceId, failures: count }, 'a webhook fails');
    if (count >= FAILURES_MAX) return giveUp(run, count);
    const retry = retryOf(run, told);
    if (retry !== undefined) run.retries.push(retry);
  }

  async function noteSuccess(run: Run): Promise<void> {
    if (run.isClean) return;
    run.isClean = true;
    await failures.reset(run.webhook);
  }

  /** Rejected logs must not keep an event from being delivered, nor deliver it again. */
  function note(run: Run, delivery: Delivery): void {
    const { webhookId, eventId } = delivery;
    const logged = log.add([delivery]).catch((err: unknown) => {
      logger.error({ err, webhookId, eventId }, 'a delivery was not logged');
    });
    run.logged.push(logged);
  }

  async function deliverOne(run: Run, told: ToldEvent): Promise<void> {
    const delivery = await attemptDelivery(parts, run, told, run.data);
    note(run, delivery);
    if (isSuccess(delivery.status)) await noteSuccess(run);
    else if (!run.isGivenUp) await noteFailure(run, told);
  }

  /** @returns what was not begun in time */
  async function deliverAll(run: Run, events: readonly ToldEvent[]): Promise<readonly ToldEvent[]> {
    const untilMs = performance.now() + JOB_MS_MAX;
    let next = 0;
    const workThrough = async () => {
      while (next < events.length && (await mayGoOn(run)) && performance.now() < untilMs && !isClosing()) {
        const told = events[next];
        next += 1;
        if (told !== undefined) await deliverOne(run, told);
      }
    };
    await Promise.all(Array.from({ length: Math.min(REQUESTS_PER_JOB, events.length) }, workThrough));
    return events.slice(next);
  }

  /**
   * Resolves when every event of the job was tried once, or is in another job.
   *
   * @throws when a store is away; the job is to be run again
   */
  return async function deliver(data: WebhookJobData, jobId: string): Promise<void> {
    const webhook = await catalog.webhooks.get(data.workspaceId, data.webhookId);
    if (webhook === undefined || webhook.disabledAt !== null) return;
    if (data.event === 'link.clicked' && (await isUsedUp(catalog, data.workspaceId))) return;
    const events = [...data.told, ...(await bodies.read(webhook, data.event, data.eventIds))];
    const secret = catalog.webhooks.secretOf(webhook);
    const states = { isGivenUp: false, isOutdated: false, isClean: true };
    const run: Run = { webhook, secret, data, retries: [], logged: [], ...states };
    const left = await deliverAll(run, events);
    await Promise.all(run.logged);
    if (run.isGivenUp) return;
    await sender.send(left.length === 0 ? run.retries : [...run.retries, restOf(run, jobId, left)]);
  };
}
