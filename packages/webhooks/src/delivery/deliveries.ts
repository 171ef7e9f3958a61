import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, parseResourceId, type WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { DELIVERIES_TABLE, type Delivery } from './delivery-log.js';
import { jobText, webhookJobId } from './webhook-job.js';

/** Selects deliveries: those of a workspace that match all of the given fields. */
export interface DeliverySelection {
  readonly workspaceId: string;
  readonly webhookId?: string | undefined;
  /** `evt_…` */
  readonly eventIds?: readonly string[] | undefined;
  /** Only events that no attempt has delivered. */
  readonly isFailed?: boolean | undefined;
  readonly limit: number;
}

/** An attempt, without the bodies. */
export type DeliveryLine = Omit<Delivery, 'workspaceId' | 'requestBody' | 'responseBody'>;

const READ_SECONDS_MAX = 30;
const JOBS_PER_TRANSACTION = 200;
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
): Promise<Row[]> {
  const settings = { max_execution_time: READ_SECONDS_MAX, log_comment: 'webhook deliveries' };
  return clickhouse.rows<Row>({ query, parameters, settings });
}

/** Lists attempts, newest first. */
export async function listDeliveries(
  clickhouse: ClickHouseClient,
  selection: DeliverySelection,
): Promise<DeliveryLine[]> {
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
  );
  return rows.map(([webhook, eventId, event, attempt, at, url, status, elapsedMs, error]) => ({
    webhookId: formatResourceId('webhook', webhook),
    eventId,
    event,
    attempt,
    at: Number(at),
    url,
    status,
    elapsedMs,
    error,
  }));
}

/**
 * Delivers logged events again, with the last body that was sent, and with the full number of attempts.
 *
 * @returns how many were queued; if the webhook is disabled when the job runs, they are not delivered
 */
export async function replayDeliveries(
  clickhouse: ClickHouseClient,
  redis: Redis,
  selection: DeliverySelection,
): Promise<number> {
  const { where, parameters } = conditionsOf(selection);
  const rows = await read<[string, string, WebhookTrigger, string]>(
    clickhouse,
    `SELECT toString(webhook_id), event_id, any(event), argMax(request_body, timestamp)
FROM ${DELIVERIES_TABLE} WHERE ${where} AND request_body != ''
GROUP BY webhook_id, event_id ${selection.isFailed ? `HAVING countIf(${IS_DELIVERED}) = 0` : ''}
ORDER BY min(timestamp), event_id LIMIT {limit:UInt32}`,
    { ...parameters, limit: selection.limit },
  );
  const sender = createWebhookJobSender(redis);
  const replay = `-${randomUUID()}`;
  const { workspaceId } = selection;
  const jobs = rows.map(([webhook, id, event, body]) => {
    const webhookId = formatResourceId('webhook', webhook);
    const data = jobText({ workspaceId, webhookId, event, replay, events: [{ id, body }] });
    return { id: webhookJobId(webhookId, `${id}${replay}`), data };
  });
  for (let start = 0; start < jobs.length; start += JOBS_PER_TRANSACTION) {
    await sender.send(jobs.slice(start, start + JOBS_PER_TRANSACTION));
  }
  return jobs.length;
}
