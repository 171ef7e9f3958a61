import type { Catalog, WebhookRecord } from '@waymark/catalog';
import { type DeliverySelection, listDeliveries, type ReplayProgress, replayDeliveries } from '@waymark/webhooks';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption, requiredText } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { withProgress } from '../progress.js';
import { connectClickHouse, connectRedis, findTarget, queueUrls, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 10_000;

export interface DeliveriesOptions {
  readonly workspace?: RawOption;
  readonly webhook?: RawOption;
  readonly failed?: boolean;
  readonly limit?: RawOption;
}

async function findWebhook(catalog: Catalog, workspaceId: string, id: string): Promise<WebhookRecord> {
  const webhook = await catalog.webhooks.get(workspaceId, id);
  if (webhook === undefined) throw new CommandError(`the workspace has no webhook with the id ${id}`);
  return webhook;
}

function selectionOf(options: DeliveriesOptions): Promise<DeliverySelection> {
  const workspace = requiredText('workspace', options.workspace);
  const id = optionalText('webhook', options.webhook);
  const limit = Number(optionalText('limit', options.limit) ?? LIMIT_DEFAULT);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CommandError(`--limit must be a whole number up to ${LIMIT_MAX}`);
  }
  return withCatalog(async (catalog) => {
    const { id: workspaceId } = await findWorkspace(catalog, workspace);
    const webhook = id === undefined ? undefined : await findWebhook(catalog, workspaceId, id);
    return { workspaceId, webhookId: webhook?.id, isFailed: options.failed === true, limit };
  });
}

/** `waymark webhooks deliveries`: lists delivery attempts, newest first. */
export async function showDeliveries(options: DeliveriesOptions): Promise<CommandResult> {
  const selection = await selectionOf(options);
  const clickhouse = connectClickHouse(findTarget());
  try {
    const deliveries = (await listDeliveries(clickhouse, selection)).map(({ at, ...rest }) => ({
      at: new Date(at).toISOString(),
      ...rest,
    }));
    const rows = deliveries.map(({ at, eventId, event, webhookId, attempt, status, elapsedMs, error }) => [
      at,
      eventId,
      event,
      webhookId,
      String(attempt),
      String(status),
      `${elapsedMs} ms`,
      error,
    ]);
    const heading = ['TIME', 'EVENT', 'KIND', 'WEBHOOK', 'ATTEMPT', 'STATUS', 'TOOK', 'ERROR'];
    return { data: { deliveries }, lines: table([heading, ...rows]) };
  } finally {
    await clickhouse.close();
  }
}

/** The error of a replay that has queued some of its events, which the same command would queue again. */
function incompleteReplay({ queued, selected }: ReplayProgress, err: unknown): CommandError {
  const reason = err instanceof Error ? `${err.name}: ${err.message}` : String(err);
  return new CommandError(
    `${queued} of ${selected} events are queued, the others are not (${reason}). The same command would deliver those ${queued} again: wait until they are delivered, then add --failed, which leaves them out`,
  );
}

/**
 * `waymark webhooks replay`: queues deliveries again, of the given events or all that failed.
 *
 * @throws CommandError when the webhook is disabled, or when a store fails after some of the events were queued
 */
export async function replayWebhookDeliveries(
  eventIds: readonly string[],
  options: DeliveriesOptions,
): Promise<CommandResult> {
  if (eventIds.length === 0 && options.failed !== true) throw new CommandError('give the ids of events, or --failed');
  const selection = await selectionOf({ ...options, limit: String(LIMIT_MAX) });
  const { workspaceId, webhookId } = selection;
  if (webhookId !== undefined) {
    const { disabledAt } = await withCatalog((catalog) => findWebhook(catalog, workspaceId, webhookId));
    if (disabledAt !== null) throw new CommandError(`the webhook was disabled at ${disabledAt}: enable it first`);
  }
  const target = findTarget();
  const clickhouse = connectClickHouse(target);
  const urls = queueUrls(target);
  const redis = connectRedis(target, await withCatalog(({ queueShards }) => queueShards.pick(urls, workspaceId)));
  try {
    const selectedIds = eventIds.length === 0 ? undefined : eventIds;
    let progress: ReplayProgress = { queued: 0, selected: 0 };
    const read = () => ({
      share: progress.queued / Math.max(1, progress.selected),
      text: `${progress.queued} of ${progress.selected} queued`,
    });
    const onProgress = (now: ReplayProgress) => {
      progress = now;
    };
    const replayOptions = { waitReplicas: target.settings.redisWaitReplicas, onProgress };
    const replayed = await withProgress(read, () =>
      replayDeliveries(clickhouse, redis, { ...selection, eventIds: selectedIds }, replayOptions),
    ).catch((err: unknown) => {
      throw progress.queued === 0 ? err : incompleteReplay(progress, err);
    });
    if (selectedIds !== undefined && replayed === 0) {
      throw new CommandError('no such event was delivered recently; see: waymark webhooks deliveries');
    }
    return { data: { replayed }, lines: [`${replayed} queued`] };
  } finally {
    redis.disconnect();
    await clickhouse.close();
  }
}
