import { setTimeout as delay } from 'node:timers/promises';
import { type Catalog, type LinkRecord, WEBHOOK_VISIBILITY } from '@waymark/catalog';
import { ApiError, type Partner, type WebhookTrigger } from '@waymark/contract';
import type { QueueLogger, WebhookJob } from '@waymark/event-queue';
import { NotReplicatedError } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { REFUSED_FROM_BYTES } from '../delivery/waiting-jobs.js';
import { outgoingEvent } from './event-bodies.js';
import { createWebhookEventId, webhookEventIdOf } from './webhook-event-id.js';
import { activeWebhooks, jobsOf, openWebhookQueue, type WebhookQueue, webhooksFor } from './webhook-queue.js';

/** Dependencies of {@link createWebhookNotifier}. */
export interface WebhookNotifierDeps {
  readonly catalog: Catalog;
  /**
   * By number of the queue shard, the connections to duplicate: the notifier uses some of its own, because BullMQ defines its scripts on
   * them.
   */
  readonly queueShards: readonly Redis[];
  /** How many replicas of Redis must confirm the jobs; 0 by default. */
  readonly waitReplicas?: number | undefined;
  readonly logger: Pick<QueueLogger, 'debug' | 'error'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Pauses in milliseconds before the attempts that follow a failed one; tests shorten them. */
  readonly pausesMs?: readonly number[];
}

/** The triggers of changes made through the API. */
export type ChangeTrigger = 'link.created' | 'link.updated' | 'link.deleted' | 'partner.enrolled';

/**
 * Queues webhook deliveries for changes made through the API. While the queue shard of the workspace is away, shard 0 gets the jobs: a
 * change needs it anyway, and its worker delivers for any workspace. While a store does not answer, the process tries again for a minute
 * and a half, after the response. A workspace without a matching webhook costs one lookup in a map.
 */
export interface WebhookNotifier {
  /**
   * Call it before a change that a request makes, other than the removal of a link, which is never refused. While Redis or ClickHouse does
   * not answer, nothing is refused.
   *
   * @throws ApiError rate_limit_exceeded while the waiting deliveries of the workspace have 32 MB or more, and a webhook that would get the
   *   change has 320 kB of them or more
   */
  assertQueueCapacity(workspaceId: string, ...events: readonly Exclude<ChangeTrigger, 'link.deleted'>[]): Promise<void>;
  /** Call it after the change. It does not reject: the change stands even if the delivery cannot be queued. */
  linkChanged(event: Exclude<ChangeTrigger, 'partner.enrolled'>, link: LinkRecord): Promise<void>;
  /**
   * Like `linkChanged`. However often it is called for a partner within thirty days, each webhook gets one delivery.
   *
   * @param dataOf reads the partner; called for each attempt, if a webhook gets the event
   */
  partnerEnrolled(workspaceId: string, partnerId: string, dataOf: () => Promise<Partner>): Promise<void>;
  /**
   * Call it after a webhook was disabled or deleted: its waiting deliveries are given up, and no longer count. It does not reject: if Redis
   * does not answer, they count until their next attempt.
   */
  webhookStopped(workspaceId: string, webhookId: string): Promise<void>;
  /** Disconnects, and gives up what would be tried again. */
  close(): void;
}

const PAUSES_MS = [1_000, 5_000, 20_000, 60_000];
/** Maximum number of changes that wait for their next attempt; a further one is given up after its first attempt. */
const RETRYING_MAX = 1_000;
/**
 * A webhook is behind if its waiting deliveries have this many bytes or more. A workspace has at most a hundred webhooks, so those that are
 * not behind have less than 32 MB together: the difference between {@link QUEUED_BYTES_MAX} and {@link REFUSED_FROM_BYTES}.
 */
const BEHIND_FROM_BYTES = 320_000;
/**
 * Nothing more is queued while the waiting deliveries of a workspace have this many bytes. Changes are refused from
 * {@link REFUSED_FROM_BYTES} on; the space between is for removed links, for requests that ran when that limit was reached, and for changes
 * without a request, such as the ends of A/B tests.
 */
const QUEUED_BYTES_MAX = 64_000_000;
const RETRY_AFTER_SECONDS = 10;
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
/** A command that timed out may still be executed later, when a suspended Redis resumes. */
const UNCONFIRMED = 'webhook deliveries of a change are lost, unless Redis has taken them without confirming it';

/** The waiting deliveries of the workspace have as many bytes as may be queued. */
class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';

  constructor() {
    super(`the waiting webhook deliveries of the workspace have ${QUEUED_BYTES_MAX} bytes`);
  }
}

/** How long the jobs of a shard go to shard 0 after its replicas have not confirmed. */
const UNCONFIRMED_PAUSE_MS = 10_000;

/** The jobs of one change of a workspace. */
interface ChangeJobs {
  readonly workspaceId: string;
  readonly jobs: readonly WebhookJob[];
  /** The name for `sendOnce`; undefined for a change that is sent by one call only. */
  readonly onceAs: string | undefined;
}

/** @throws TooManyWaitingError; the error of Redis, if it is uncertain whether it has the jobs */
async function queue({ sender, waiting }: WebhookQueue, { workspaceId, jobs, onceAs }: ChangeJobs): Promise<void> {
  if (!(await waiting.add(workspaceId, jobs, QUEUED_BYTES_MAX))) throw new TooManyWaitingError();
  await (onceAs === undefined ? sender.send(jobs) : sender.sendOnce(onceAs, jobs));
}

/** Creates the notifier, and connects to every queue shard. */
export function createWebhookNotifier(deps: WebhookNotifierDeps): WebhookNotifier {
  const { catalog, queueShards, waitReplicas = 0, logger, now, pausesMs = PAUSES_MS } = deps;
  const closing = new AbortController();
  /** Number of changes that wait for their next attempt. */
  let retrying = 0;
  const shards = queueShards.map((redis) => openWebhookQueue(redis, waitReplicas, logger));
  /** When shards whose replicas have not confirmed are tried again, epoch milliseconds. */
  const pausedUntilMs = new Map<WebhookQueue, number>();

  /**
   * Adds the jobs to the shard of the workspace, or to shard 0 if that does not confirm them. The ids are the same: if shard 0 is the shard
   * of the workspace, it has each job once. If both shards have the jobs, receivers get the same event twice, under the same id.
   * After its replicas have not confirmed, a shard is left out for a while: each of its jobs would be delivered twice, and wait for half a second.
   */
  async function send(change: ChangeJobs): Promise<void> {
    const { workspaceId } = change;
    const shard = await catalog.queueShards.pick(shards, workspaceId);
    const first = shards[0] ?? shard;
    if (shard !== first && (pausedUntilMs.get(shard) ?? 0) > now()) return queue(first, change);
    try {
      await queue(shard, change);
    } catch (err) {
      if (err instanceof TooManyWaitingError) throw err;
      if (err instanceof NotReplicatedError) {
        if (shard === first) throw err;
        pausedUntilMs.set(shard, now() + UNCONFIRMED_PAUSE_MS);
      }
      logger.debug({ err, workspaceId }, 'webhook deliveries were not confirmed; sending them to shard 0');
      await queue(first, change);
    }
  }

  /**
   * Of the webhooks that get the events, the one with the most waiting bytes; undefined if it is not behind, or the workspace is below the
   * limit.
   */
  async function findBlockingWebhook(workspaceId: string, events: readonly ChangeTrigger[]) {
    const active = await activeWebhooks(catalog, workspaceId);
    const ids = active.filter(({ triggers }) => events.some((event) => triggers.includes(event))).map(({ id }) => id);
    if (ids.length === 0) return undefined;
    const { waiting } = await catalog.queueShards.pick(shards, workspaceId);
    if (await waiting.isBelow(workspaceId, REFUSED_FROM_BYTES)) return undefined;
    const sums = await waiting.bytesOf(workspaceId, ids);
    const bytes = Math.max(...sums);
    const id = ids[sums.indexOf(bytes)];
    return id === undefined || bytes < BEHIND_FROM_BYTES ? undefined : { id, bytes };
  }

  /** @param onceId the id of the event, which is sent once; by default a new one */
  async function notify(
    workspaceId: string,
    event: WebhookTrigger,
    subjectId: string,
    dataOf: () => Promise<object | undefined>,
    onceId?: string,
  ) {
    const eventId = onceId ?? createWebhookEventId();
    const createdAtMs = now();
    async function attempt(): Promise<void> {
      const webhooks = await webhooksFor(catalog, workspaceId, event);
      if (webhooks.length === 0) return;
      const data = await dataOf();
      if (data === undefined) return;
      const jobs = jobsOf(webhooks, event, outgoingEvent(eventId, event, createdAtMs, data));
      await send({ workspaceId, jobs, onceAs: onceId });
    }
    /** @throws the last error */
    async function retry(first: unknown): Promise<void> {
      if (retrying >= RETRYING_MAX) throw first;
      let error = first;
      retrying++;
      try {
        for (const ms of pausesMs) {
          try {
            await delay(ms, undefined, { signal: closing.signal });
            return await attempt();
          } catch (err) {
            if (closing.signal.aborted) break;
            error = err;
          }
        }
      } finally {
        retrying--;
      }
      throw error;
    }
    await attempt().catch((first: unknown) => {
      retry(first).catch((err: unknown) => logger.error({ err, workspaceId, event, eventId, subjectId }, UNCONFIRMED));
    });
  }

  return {
    async assertQueueCapacity(workspaceId, ...events) {
      const webhook = await findBlockingWebhook(workspaceId, events).catch((err: unknown) => {
        logger.debug({ err, workspaceId }, 'the waiting webhook deliveries could not be counted');
        return undefined;
      });
      if (webhook === undefined) return;
      const message = `The webhooks of this workspace have ${REFUSED_FROM_BYTES / 1e6} MB or more of deliveries that wait, because receivers \
are slow or fail. ${megabytes(webhook.bytes)} MB of them are for ${webhook.id}, which would get this change too. Try again later, make the \
receiver faster, disable or delete the webhook, or use the bulk routes for links, which send no webhooks.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    },

    linkChanged: (event, link) =>
      notify(link.workspaceId, event, link.id, async () => {
        const [object] = await catalog.links.objects(link.workspaceId, [link], WEBHOOK_VISIBILITY);
        return object;
      }),

    partnerEnrolled(workspaceId, partnerId, dataOf) {
      const event = 'partner.enrolled';
      return notify(workspaceId, event, partnerId, dataOf, webhookEventIdOf(event, partnerId));
    },

    async webhookStopped(workspaceId, webhookId) {
      const read = () => catalog.webhooks.get(workspaceId, webhookId);
      const warn = (err: unknown) => {
        const message = 'the waiting deliveries of a stopped webhook could not be removed';
        logger.debug({ err, workspaceId, webhookId }, message);
      };
      const shard = await catalog.queueShards.pick(shards, workspaceId).catch(warn);
      // Shard 0 has those of changes that were made while the other shard was away.
      const both = new Set([shards[0], shard]);
      await Promise.all([...both].map((one) => one?.waiting.drop(workspaceId, webhookId, read).catch(warn)));
    },

    close() {
      closing.abort();
      for (const { connection } of shards) connection.disconnect();
    },
  };
}
