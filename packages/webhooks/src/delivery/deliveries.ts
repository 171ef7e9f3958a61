import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { chunksOf, formatResourceId, parseResourceId, type WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { DELIVERIES_TABLE, type DeliveryAttempt } from './delivery-log.js';
import { createWaitingBodies, REFUSED_FROM_BYTES } from './waiting-jobs.js';
import { jobText, webhookJobId } from './webhook-job.js';

/** Selects deliveries: those of a workspace that match all of the given fields. */
export interface DeliverySelection {
  readonly workspaceId: string;
  readonly webhookId?: string | undefined;
  /** `evt_…` */
  readonly eventIds?: readonly string[] | undefined;
  /** Whether only events that no attempt has delivered are selected. */
  readonly isFailed?: boolean | undefined;
  /** Maximum number of attempts of a list. A replay, which takes all events, reads that many at a time. */
  readonly limit: number;
}

/** An attempt, without the bodies. */
export type AttemptLine = Omit<DeliveryAttempt, 'workspaceId' | 'requestBody' | 'responseBody'>;

const READ_SECONDS_MAX = 30;
/** Events that a replay reads and queues at a time. A body may have 170 kB. */
const EVENTS_PER_STEP = 50;
/**
 * A replay pauses while the waiting deliveries of the workspace have this many bytes or more. One step of the replay more then stays below
 * the limit from which changes are refused.
 */
const WAIT_FROM_BYTES = REFUSED_FROM_BYTES / 2;
/** Milliseconds until a paused replay looks again. */
const WAIT_MS = 1_000;
const IS_DELIVERED = 'status BETWEEN 200 AND 299';

function conditionsOf({ workspaceId, webhookId, eventIds }: DeliverySelection) {
  const sql = [
    'workspace_id = {workspace:UInt64}',
    ...(webhookId === undefined ? [] : ['webhook_id = {webhook:UInt64}']),
    ...(eventIds === undefined ? [] : ['event_id IN {events:Array(String)}']),
  ];
  return {
    where: sql.join(' AND '),
    parameters: {
      workspace: parseResourceId('workspace', workspaceId),
      webhook: parseResourceId('webhook', webhookId ?? '') ?? '0',
      events: eventIds ?? [],
    },
  };
}

function read<Row extends readonly unknown[]>(
  clickhouse: ClickHouseClient,
  query: string,
  parameters: Readonly<Record<string, unknown>>,
  workspaceId: string,
): Promise<Row[]> {
  const settings = { max_execution_time: READ_SECONDS_MAX, log_comment: 'webhook deliveries' };
  return clickhouse.rows<Row>({ query, parameters, settings, owner: workspaceId });
}

/** Lists the attempts of deliveries, newest first. */
export async function listDeliveryAttempts(
  clickhouse: ClickHouseClient,
  selection: DeliverySelection,
): Promise<AttemptLine[]> {
  const { where, parameters } = conditionsOf(selection);
  const failed = selection.isFailed
    ? `AND (webhook_id, event_id) NOT IN
  (SELECT webhook_id, event_id FROM ${DELIVERIES_TABLE} WHERE ${where} AND ${IS_DELIVERED})`
    : '';
  const rows = await read<[string, string, WebhookTrigger, number, string, string, number, number, string]>(
    clickhouse,
    `SELECT toString(webhook_id), event_id, event, attempt, toString(toUnixTimestamp64Milli(timestamp)), url, status, elapsed_ms,
  error
FROM ${DELIVERIES_TABLE} WHERE ${where} ${failed}
ORDER BY timestamp DESC, event_id LIMIT {limit:UInt32}`,
    { ...parameters, limit: selection.limit },
    selection.workspaceId,
  );
  return rows.map(([webhook, eventId, event, attempt, startedMs, url, status, elapsedMs, error]) => ({
    webhookId: formatResourceId('webhook', webhook),
    eventId,
    event,
    attempt,
    startedMs: Number(startedMs),
    url,
    status,
    elapsedMs,
    error,
  }));
}

/** How far a replay is. */
export interface ReplayProgress {
  /** Events that are queued. */
  readonly queued: number;
  /** Events that are selected. */
  readonly selected: number;
}

/** Options of {@link replayDeliveries}. */
export interface ReplayOptions {
  /** How many replicas of Redis must confirm the jobs; 0 by default. */
  readonly waitReplicas?: number | undefined;
  /** Called before the first event and after each step. */
  readonly onProgress?: (progress: ReplayProgress) => void;
}

/** The last body that was sent of each event, by webhook and event. */
async function readBodies(
  clickhouse: ClickHouseClient,
  selection: DeliverySelection,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { where, parameters } = conditionsOf({ ...selection, eventIds });
  const rows = await read<[string, string, string]>(
    clickhouse,
    `SELECT toString(webhook_id), event_id, argMax(request_body, timestamp)
FROM ${DELIVERIES_TABLE} WHERE ${where} AND request_body != '' GROUP BY webhook_id, event_id`,
    parameters,
    selection.workspaceId,
  );
  return new Map(rows.map(([webhook, id, body]) => [`${webhook} ${id}`, body]));
}

/** An event of a webhook, and when it was first attempted, epoch milliseconds. */
interface LoggedEvent {
  readonly webhook: string;
  readonly id: string;
  readonly event: WebhookTrigger;
  readonly firstAt: string;
}

/** The logged events of a selection, in the order of their first attempts. More attempts do not change that order. */
async function selectEvents(clickhouse: ClickHouseClient, selection: DeliverySelection) {
  const { where, parameters } = conditionsOf(selection);
  const events = `SELECT toString(webhook_id) AS webhook, event_id AS id, any(event) AS kind,
  toUnixTimestamp64Milli(min(timestamp)) AS first
FROM ${DELIVERIES_TABLE} WHERE ${where} AND request_body != ''
GROUP BY webhook_id, event_id ${selection.isFailed ? `HAVING countIf(${IS_DELIVERED}) = 0` : ''}`;
  const [[total = '0', until = '0'] = []] = await read<[string, string]>(
    clickhouse,
    `SELECT toString(count()), toString(max(first)) FROM (${events})`,
    parameters,
    selection.workspaceId,
  );

  /** The next events, without those logged since the beginning: a receiver that fails all the time adds events. */
  async function after(last: LoggedEvent | undefined): Promise<LoggedEvent[]> {
    const { firstAt = '-1', id = '', webhook = '' } = last ?? {};
    const rows = await read<[string, string, WebhookTrigger, string]>(
      clickhouse,
      `SELECT webhook, id, kind, toString(first) FROM (${events})
WHERE first <= {until:Int64} AND (first, id, webhook) > ({first:Int64}, {id:String}, {after:String})
ORDER BY first, id, webhook LIMIT {limit:UInt32}`,
      { ...parameters, until, first: firstAt, id, after: webhook, limit: selection.limit },
      selection.workspaceId,
    );
    return rows.map(([ofWebhook, eventId, event, first]) => ({
      webhook: ofWebhook,
      id: eventId,
      event,
      firstAt: first,
    }));
  }

  return {
    total: Number(total),
    async *all() {
      for (let page = await after(undefined); page.length > 0; page = await after(page.at(-1))) yield page;
    },
  };
}

/**
 * Queues logged events to be delivered again, with the last body that was sent, and with the full number of attempts. Reads and queues a
 * few events at a time, and pauses while the waiting deliveries of the workspace have 16 MB or more, half of the limit from which changes
 * are refused.
 *
 * @returns how many were queued; if the webhook is disabled when the job runs, they are not delivered
 * @throws NotReplicatedError when too few replicas confirmed a step in time
 */
export async function replayDeliveries(
  clickhouse: ClickHouseClient,
  redis: Redis,
  selection: DeliverySelection,
  { waitReplicas = 0, onProgress = () => undefined }: ReplayOptions = {},
): Promise<number> {
  const selected = await selectEvents(clickhouse, selection);
  const sender = createWebhookJobSender(redis, createReplication(redis, waitReplicas));
  const waiting = createWaitingBodies(redis);
  const replay = `-${randomUUID()}`;
  const { workspaceId } = selection;
  let queued = 0;
  onProgress({ queued, selected: selected.total });

  async function queue(some: readonly LoggedEvent[]): Promise<void> {
    while (!(await waiting.isBelow(workspaceId, WAIT_FROM_BYTES))) await delay(WAIT_MS);
    const eventIds = [...new Set(some.map(({ id }) => id))];
    const bodies = await readBodies(clickhouse, selection, eventIds);
    const jobs = some.flatMap(({ webhook, id, event }) => {
      const body = bodies.get(`${webhook} ${id}`);
      // The person of the event was erased meanwhile.
      if (body === undefined) return [];
      const webhookId = formatResourceId('webhook', webhook);
      const data = jobText({ workspaceId, webhookId, event, replay, events: [{ id, body }] });
      return [{ id: webhookJobId(webhookId, `${id}${replay}`), data }];
    });
    await waiting.add(workspaceId, jobs);
    await sender.send(jobs);
    queued += jobs.length;
    onProgress({ queued, selected: selected.total });
  }

  for await (const page of selected.all()) for (const some of chunksOf(page, EVENTS_PER_STEP)) await queue(some);
  return queued;
}
