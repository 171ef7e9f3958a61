import type { WorkspaceRecord } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { type ImportSource, parseResourceId } from '@waymark/contract';
import {
  type ClickAlias,
  createClaimAdmin,
  HistoryBusyError,
  openPastEvents,
  type PastEvents,
  type PastEventsOptions,
  PENDING_TTL_MS,
  type RefusedRow,
} from '@waymark/event-queue';
import type { LinkRuleDeps } from '@waymark/link-rules';
import { ImportError } from '../model/import-error.js';
import { isErrorOfRecord } from '../model/record-errors.js';
import type { DomainMap } from '../run/domain-map.js';
import { createBatchReader, type EventBatch } from './event-batch.js';
import { type EventCounts, type EventReport, NO_EVENTS } from './event-report.js';
import { evictLatestLeads } from './evict-latest-leads.js';
import { itemBatches, positionOf } from './history-items.js';
import { createPastCustomers } from './past-customers.js';
import type { HistoryItem, HistorySource } from './past-event.js';
import { createPastLinks } from './past-links.js';
import { createPastRows } from './past-rows.js';
import { createStoredEvents } from './stored-events.js';

/** The stores that events are written to. */
export interface EventStores
  extends Pick<PastEventsOptions, 'queues' | 'waitReplicas' | 'cluster' | 'waitsForQuorum' | 'leaseMs'> {
  readonly clickhouse: ClickHouseClient;
}

export interface EventImportOptions {
  readonly deps: Pick<LinkRuleDeps, 'catalog' | 'defaultDomain' | 'now'>;
  readonly stores: EventStores;
  readonly workspace: WorkspaceRecord;
  readonly source: ImportSource;
  readonly domains: DomainMap;
  /** Days after which the installation deletes events; undefined = never. */
  readonly retentionDays: number | undefined;
  /** Only reads and counts; stores nothing. */
  readonly isDry: boolean;
  readonly report: EventReport;
  readonly logger: PastEventsOptions['logger'];
  /** When it is aborted, the import throws its reason, at the latest after the batch that is being stored. */
  readonly signal?: AbortSignal;
}

const DAY_MS = 24 * 3_600_000;
/** How far the time of an event may be in the future, because clocks differ. */
const AHEAD_MS_MAX = 10 * 60_000;
/** Wait for a pending claim: until the claim of a killed process has expired. */
const CLAIM_WAIT_MS = PENDING_TTL_MS + 5_000;
/** TTL of the claim of a stored customer; it is longer on a cluster, whose replicas may lag. */
const [CUSTOMER_CLAIM_MS, CLUSTER_CLAIM_MS] = [15_000, 10 * 60_000];

/** Stored with each batch; a continued import starts with it. */
interface Progress {
  /** {@link HistoryPage.next} of the last page of the batch. */
  readonly next: string;
  readonly counts: EventCounts;
  /** {@link DomainMap.identity} and {@link HistorySource.timezone} of the run; an earlier version stored neither. */
  readonly domains?: string;
  readonly timezone?: string | undefined;
  /** See {@link EventReport.save}. */
  readonly report?: string | undefined;
}

/** Counts dropped sales as repeated. @param dropped number of sales that were not stored, because their invoice belongs to another sale */
function withoutDropped(counts: EventCounts, dropped: number): EventCounts {
  return { ...counts, sales: counts.sales - dropped, repeated: counts.repeated + dropped };
}

/**
 * The progress to continue from; undefined to start at the beginning.
 *
 * @param optionsNow those of this run
 * @throws ImportError when the time zone is another one
 */
function continuable(
  text: string | undefined,
  optionsNow: Pick<Progress, 'domains' | 'timezone'>,
  logger: EventImportOptions['logger'],
): Progress | undefined {
  const progress = positionOf<Progress>(text);
  if (progress === undefined) return undefined;
  const { domains, timezone } = progress;
  // The ids of the stored events contain their times: with another zone, they would be stored once more.
  if (timezone !== undefined && timezone !== optionsNow.timezone)
    throw new ImportError(`events of this import are stored with the time zone ${timezone}: continue with that one`);
  if (domains === optionsNow.domains) return progress;
  logger.warn({}, 'the interrupted run may have mapped other domains: the events are read again from the start');
  return undefined;
}

/**
 * Stores the history of a source, after its links were imported. The ids of events are derived from those of the source, and stored events
 * are left out, so a repeated import adds nothing. An import that was killed continues after its last batch, or starts again if other
 * domains are mapped: events that were rejected may have links now.
 *
 * @throws ImportError when the source cannot be read, another import of events runs in the workspace, or an import would continue with
 * another time zone; stored batches stay
 */
export async function importEvents(history: HistorySource, options: EventImportOptions): Promise<EventCounts> {
  const { deps, stores, workspace, source, report, logger, signal = new AbortController().signal } = options;
  const { catalog, now } = deps;
  const workspaceNumber = parseResourceId('workspace', workspace.id) ?? '0';
  const primary = await catalog.domains.primary(workspace.id);
  const links = createPastLinks({
    catalog,
    workspaceId: workspace.id,
    source,
    domains: options.domains,
    now,
    fallbackDomain: primary?.slug ?? deps.defaultDomain,
  });
  const shard = await catalog.queueShards.pick(stores.queues, workspace.id);
  const claims = createClaimAdmin(shard, { waitReplicas: stores.waitReplicas, pendingWaitMs: CLAIM_WAIT_MS });
  const claimMs = stores.cluster === undefined ? CUSTOMER_CLAIM_MS : CLUSTER_CLAIM_MS;
  const batches = createBatchReader({
    rows: createPastRows(workspaceNumber, source),
    links,
    customers: createPastCustomers(catalog, { claims, claimMs }, workspace.id),
    stored: createStoredEvents(stores.clickhouse, workspaceNumber, stores.cluster),
    workspaceNumber,
  });
  const { retentionDays = Number.POSITIVE_INFINITY } = options;
  const ownDays = workspace.eventRetentionDays ?? Number.POSITIVE_INFINITY;
  // The retention of the installation deletes to the second, that of a workspace by whole days.
  const oldestMs = Math.max(now() - retentionDays * DAY_MS, Math.floor(now() / DAY_MS - ownDays) * DAY_MS);
  const optionsNow = { domains: options.domains.identity, timezone: history.timezone };
  let counts = NO_EVENTS;
  let mark: string | undefined;
  let hasAliases = workspace.hasClickAliases === true;

  const add = (name: keyof EventCounts, amount = 1) => {
    counts = { ...counts, [name]: counts[name] + amount };
  };

  async function reject({ row, record }: HistoryItem, reason: string): Promise<void> {
    add('rejected');
    await report.rejected({ row, record, reason });
  }

  /** See `OrRejected`. */
  async function orRejected<T>(item: HistoryItem, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (err) {
      if (!isErrorOfRecord(err)) throw err;
      await reject(item, err.message);
      return undefined;
    }
  }

  /** The items that may be stored. The others are counted or rejected. */
  async function usable(items: readonly HistoryItem[]): Promise<HistoryItem[]> {
    const kept: HistoryItem[] = [];
    for (const item of items) {
      add('read');
      if (item.isBot === true) add('bots');
      else if (item.event === undefined) await reject(item, item.error ?? 'cannot be read');
      else if (item.event.kind === 'customer') kept.push(item);
      else if (item.event.timeMs > now() + AHEAD_MS_MAX) await reject(item, 'the time is in the future');
      else if (item.event.timeMs < oldestMs) add('tooOld');
      else kept.push(item);
    }
    return kept;
  }

  async function markAliases(aliases: readonly ClickAlias[]): Promise<void> {
    if (hasAliases || aliases.length === 0) return;
    await catalog.workspaces.update(workspace.id, { hasClickAliases: true });
    hasAliases = true;
  }

  async function store(past: PastEvents, items: readonly HistoryItem[], next: string): Promise<void> {
    const batch: EventBatch = await batches.read(await usable(items), past, orRejected);
    add('repeated', batch.repeated);
    add('customers', batch.newCustomers);
    for (const { kind } of batch.rows) add(`${kind}s`);
    await links.replaceBaselines(batch.links);
    await markAliases(batch.aliases);
    const { rows, aliases, claims: taken } = batch;
    const progressAfter = (dropped: number) =>
      JSON.stringify({ next, counts: withoutDropped(counts, dropped), ...optionsNow, report: mark } satisfies Progress);
    // Before the rows are stored, because a killed import repeats the batch. A sale in between is attributed to the latest lead of that
    // moment.
    mark = (await report.save()) ?? mark;
    await evictLatestLeads({ shard, clickhouse: stores.clickhouse, workspaceNumber, now }, rows);
    // Rows that are refused meanwhile are counted during this call.
    const dropped = await past.write({ rows, aliases, claims: taken, progressAfter });
    counts = withoutDropped(counts, dropped);
    report.progress(counts);
  }

  async function count(items: readonly HistoryItem[]): Promise<void> {
    for (const { event } of await usable(items)) add(`${event?.kind ?? 'click'}s`);
    report.progress(counts);
  }

  if (options.isDry) {
    for await (const { items } of itemBatches(history, undefined, signal)) await count(items);
    return counts;
  }

  /** Rows of the batch that an earlier run has left, which are refused while it is completed. */
  const refusedAtStart: RefusedRow[] = [];
  let isOpen = false;
  /** Rejects a row. Its batch may be complete in a moment, so the report is saved right away. */
  async function rejectRefused({ kind, row, error }: RefusedRow, isCounted: boolean): Promise<void> {
    if (isCounted) add(`${kind}s`, -1);
    await reject({ row: 0, record: row }, `the store refuses it: ${error}`);
    mark = (await report.save()) ?? mark;
  }

  async function open(): Promise<PastEvents> {
    return openPastEvents({
      ...stores,
      workspaceNumber,
      shard,
      identity: history.identity,
      logger,
      now,
      signal: options.signal,
      onInserting: catalog.markTotals,
      onInserted: catalog.evictTotals,
      onRefused: async (refused) => {
        if (isOpen) await rejectRefused(refused, true);
        else refusedAtStart.push(refused);
      },
    });
  }

  try {
    const past = await open();
    let isFinished = false;
    try {
      isOpen = true;
      const progress = continuable(past.progress, optionsNow, logger);
      if (progress !== undefined) {
        counts = withoutDropped(progress.counts, past.dropped);
        mark = progress.report;
        await report.continued(counts, mark);
      }
      for (const refused of refusedAtStart) await rejectRefused(refused, progress !== undefined);
      for await (const { items, next } of itemBatches(history, progress?.next, signal)) await store(past, items, next);
      isFinished = true;
    } finally {
      await (isFinished ? past.finish() : past.close());
    }
  } catch (err) {
    options.signal?.throwIfAborted();
    throw err instanceof HistoryBusyError ? new ImportError(err.message) : err;
  }
  return counts;
}
