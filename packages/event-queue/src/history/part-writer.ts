import type { ClickHouseClient } from '@waymark/clickhouse';
import { EVENT_ROW_VERSION, type EventTableKind } from '@waymark/event-format';
import type { InsertedBatch } from '../queue/webhook-jobs.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import type { BatchRows } from '../writer/batch-rows.js';
import { createEventTable, type EventTable } from '../writer/event-table.js';
import { createBatchInserter } from '../writer/insert/batch-inserter.js';
import type { InsertBatch, Manifest } from '../writer/manifest.js';
import type { Retry } from '../writer/retry.js';
import type { HistoryState, PendingBatch } from './history-state.js';

/** A row of an import that ClickHouse refuses. */
export interface RefusedRow {
  readonly kind: EventTableKind;
  readonly row: string;
  readonly error: string;
}

export interface PartWriterOptions {
  readonly clickhouse: ClickHouseClient;
  readonly cluster: string | undefined;
  readonly waitsForQuorum: boolean;
  readonly state: HistoryState;
  readonly counters: Pick<Manifest, 'insertsSince' | 'addInserts'>;
  readonly retry: Retry;
  readonly onRefused: (refused: RefusedRow) => Promise<void>;
  /** Called before each attempt to insert rows, and awaited. */
  readonly onInserting: (batch: InsertedBatch) => Promise<void>;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

type Part = PendingBatch['parts'][number];

/** The id of a part's insert, which is its deduplication token. */
export function partId({ id, revision }: Pick<PendingBatch, 'id' | 'revision'>, { name }: Pick<Part, 'name'>): string {
  return revision === 0 ? `${id}-${name}` : `${id}-${name}-${revision}`;
}

/**
 * Inserts parts of pending batches as the writer of the queue inserts its batches: a repeat has the same token, and once ClickHouse may have
 * dropped the token, only absent rows are inserted.
 */
export function createPartWriter(options: PartWriterOptions) {
  const { clickhouse, cluster, waitsForQuorum, state, counters, retry, logger, now } = options;
  const tables = new Map<EventTableKind, EventTable>();

  function tableOf(kind: EventTableKind): EventTable {
    const known = tables.get(kind);
    if (known !== undefined) return known;
    const table = createEventTable({ client: clickhouse, kind, cluster, waitsForQuorum, now });
    tables.set(kind, table);
    return table;
  }

  return {
    tableOf,

    /**
     * Inserts a part of a batch.
     *
     * @param isRepeat whether an earlier attempt may have begun
     * @param split names of the parts that were refused as a whole. The part is added if ClickHouse refuses it now
     */
    async write(
      { id, revision, at, insertsBefore, insertsElsewhere }: PendingBatch,
      { name, kind, rows }: Part,
      isRepeat: boolean,
      split: Set<string>,
    ) {
      const isSplit = split.has(name);
      const batch: InsertBatch = {
        id: partId({ id, revision }, { name }),
        kind,
        version: EVENT_ROW_VERSION,
        jobIds: [],
        skipped: {},
        at,
        state: isSplit ? 'split' : 'open',
        insertsBefore,
        insertsElsewhere,
      };
      const texts: BatchRows = { texts: rows, faulty: [], missing: [], originOf: (index) => ({ jobId: id, index }) };
      const markSplit = () => state.markSplit([...split.add(name)]);
      const manifest = { ...counters, read: async () => batch, markSplit };
      const inserter = createBatchInserter({
        kind,
        table: tableOf(kind),
        manifest,
        retry,
        logger,
        now,
        onInserting: options.onInserting,
        parkRow: (_batch, _rows, position, error) => options.onRefused({ kind, row: rows[position] ?? '', error }),
      });
      await (isSplit ? inserter.insertParts(batch, texts, true) : inserter.insertWhole(batch, texts, isRepeat));
    },
  };
}
