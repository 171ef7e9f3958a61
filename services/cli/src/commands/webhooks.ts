import type { Catalog, WebhookRecord } from '@waymark/catalog';
import {
  type DeliverySelection,
  includesWebhooks,
  listDeliveryAttempts,
  type ReplayProgress,
  replayDeliveries,
} from '@waymark/webhooks';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption, ROWS_MAX, requiredText, rowLimit } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { withProgress } from '../progress.js';
import { findTarget, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

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

async function selectionOf(
  catalog: Catalog,
  workspace: string,
  options: DeliveriesOptions,
): Promise<Omit<DeliverySelection, 'limit'>> {
  const { id: workspaceId } = await findWorkspace(catalog, workspace);
  const id = optionalText('webhook', options.webhook);
  const webhook = id === undefined ? undefined : await findWebhook(catalog, workspaceId, id);
  return { workspaceId, webhookId: webhook?.id, isFailed: options.failed === true };
}

/** `waymark webhooks deliveries`: lists delivery attempts, newest first. */
export async function showDeliveries(options: DeliveriesOptions): Promise<CommandResult> {
  const workspace = requiredText('workspace', options.workspace);
  const limit = rowLimit(options.limit);
  return withCatalog(async (catalog, { clickhouse }) => {
    const found = await listDeliveryAttempts(clickhouse, {
      ...(await selectionOf(catalog, workspace, options)),
      limit,
    });
    const deliveries = found.map(({ startedMs, ...rest }) => ({ at: new Date(startedMs).toISOString(), ...rest }));
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
  });
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
 * @throws CommandError when the webhook is disabled, when the plan includes no webhooks, or when a store fails after some of the events were queued
 */
export async function replayWebhookDeliveries(
  eventIds: readonly string[],
  options: DeliveriesOptions,
): Promise<CommandResult> {
  if (eventIds.length === 0 && options.failed !== true) throw new CommandError('give the ids of events, or --failed');
  const workspace = requiredText('workspace', options.workspace);
  const selectedIds = eventIds.length === 0 ? undefined : eventIds;
  return withCatalog(async (catalog, { clickhouse, queues }) => {
    const selection = await selectionOf(catalog, workspace, options);
    const { workspaceId, webhookId } = selection;
    const disabledAt = webhookId && (await findWebhook(catalog, workspaceId, webhookId)).disabledAt;
    if (disabledAt) throw new CommandError(`the webhook was disabled at ${disabledAt}: enable it first`);
    if (!(await includesWebhooks(catalog, workspaceId)))
      throw new CommandError('the plan of the workspace does not include webhooks, so nothing is delivered');
    const queue = await catalog.queueShards.pick(queues, workspaceId);
    let progress: ReplayProgress = { queued: 0, selected: 0 };
    const read = () => ({
      share: progress.queued / Math.max(1, progress.selected),
      text: `${progress.queued} of ${progress.selected} queued`,
    });
    const onProgress = (now: ReplayProgress) => {
      progress = now;
    };
    const replayOptions = { waitReplicas: findTarget().settings.redisWaitReplicas, onProgress };
    const replayed = await withProgress(read, () =>
      replayDeliveries(clickhouse, queue, { ...selection, limit: ROWS_MAX, eventIds: selectedIds }, replayOptions),
    ).catch((err: unknown) => {
      throw progress.queued === 0 ? err : incompleteReplay(progress, err);
    });
    if (selectedIds !== undefined && replayed === 0) {
      throw new CommandError('no such event was delivered recently; see: waymark webhooks deliveries');
    }
    return { data: { replayed }, lines: [`${replayed} queued`] };
  });
}
