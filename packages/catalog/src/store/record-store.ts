import { type ClickHouseClient, insertRows, isQuorumBusy, QUORUM_INSERT, SEQUENTIAL_READ } from '@waymark/clickhouse';
import type { EventRow } from '@waymark/event-format';
import { createGroupCommit, type GroupCommit } from '../clickhouse/group-commit.js';
import type { ReadList } from '../clickhouse/list-reads.js';
import { createRecordList, type RecordList } from '../lists/record-list.js';
import { type CatalogRecord, type EntityType, type Name, recordColumns } from '../model/entity-type.js';
import type { ReadOptions } from '../model/read-options.js';
import { type PendingRecords, withPending } from '../pending/pending-records.js';
import type { CatalogChange } from '../redis/catalog-changes.js';
import { createLocalRecords, type LocalNames, type RecordsBound } from './local-cache.js';
import { createRecordReader, type RecordReader } from './record-reader.js';
import { createRecordTable, type RecordTable, type TableReads } from './record-table.js';
import { createRecordWriter, type RecordWriter } from './record-writer.js';
import { retryWrite } from './retry-write.js';
import { localKey } from './shared-look-ups.js';
import type { WriteDeps } from './write-context.js';

/** Time limit of an insert. Together with the time in which a lock allows to start inserts, it must be shorter than the TTL of a lock. */
const INSERT_SECONDS_MAX = 10;
/** Settings that parse inserts on one thread: with few rows, several threads cost a fifth to a third of the processor time of an insert. */
const FEW_ROWS = { max_threads: 1, input_format_parallel_parsing: 0 } as const;

/** Dependencies of {@link createRecordStore}. */
export interface StoreDeps extends WriteDeps {
  readonly clickhouse: ClickHouseClient;
  readonly readList: ReadList;
  readonly localNames: LocalNames;
  /** See `ReaderDeps`. */
  readonly mayUseCopies: (options: ReadOptions) => boolean;
  readonly settings: TableSettings;
}

/** Settings of every read and every insert of catalog tables. */
export interface TableSettings extends TableReads {
  readonly insert: Readonly<Record<string, string | number>>;
  readonly concurrentInsertsMax: number;
}

/** The settings for tables on one server. */
export const SINGLE_NODE: TableSettings = { isOneServer: true, read: {}, insert: {}, concurrentInsertsMax: 2 };

/** The settings for replicated tables: a check must see every acknowledged write, whichever replica answers. */
export const REPLICATED: TableSettings = {
  isOneServer: false,
  read: SEQUENTIAL_READ,
  insert: QUORUM_INSERT,
  concurrentInsertsMax: 1,
};

/** Options of {@link createRecordStore}. */
export interface StoreOptions<R extends CatalogRecord> {
  /** The most records that are cached in this process. */
  readonly cached: RecordsBound;
  /** See `RecordDeps`. */
  readonly isOrphan?: (record: R) => Promise<boolean>;
  /** See `RecordDeps`. */
  readonly reservedFor?: (name: Name) => Promise<readonly Name[]>;
  /** The pending records of the type; by default it has none. */
  readonly pending?: PendingRecords<R>;
}

/** The records of one type. Reads use the caches, writes take locks (docs/architecture.md, "Records"). */
export interface RecordStore<R extends CatalogRecord> extends RecordReader<R>, RecordWriter<R> {
  readonly kind: EntityType<R>;
  readonly table: RecordTable<R>;
  readonly lists: RecordList<R>;
  /** Evicts changed records from the cache of this process. */
  onChange(change: CatalogChange): void;
  /** Expires all copies of this process, because invalidations may have been missed. */
  onGap(): void;
  close(): Promise<void>;
}

/** Batches concurrent inserts into a table into one statement. */
export function createTableCommit(
  clickhouse: ClickHouseClient,
  table: string,
  columns: readonly string[],
  settings: TableSettings,
  now: () => number,
): GroupCommit {
  const insert = (rows: readonly EventRow[]) =>
    retryWrite(
      () =>
        insertRows(clickhouse, {
          table,
          columns,
          rows,
          maxExecutionSeconds: INSERT_SECONDS_MAX,
          settings: { ...FEW_ROWS, ...settings.insert },
        }),
      isQuorumBusy,
    );
  return createGroupCommit({ insert, now, concurrentInsertsMax: settings.concurrentInsertsMax });
}

/** Creates the {@link RecordStore} of a type. It must be subscribed to the change feed. */
export function createRecordStore<R extends CatalogRecord>(
  kind: EntityType<R>,
  deps: StoreDeps,
  options: StoreOptions<R>,
): RecordStore<R> {
  const { clickhouse, settings, now } = deps;
  const { pending } = options;
  const written = createRecordTable(kind, clickhouse, settings, deps);
  const table = pending === undefined ? written : withPending(kind, written, deps.namesTable, pending);
  const localRecords = createLocalRecords<R>({ bound: options.cached, staleMsMax: kind.staleMsMax, now });
  const commit = createTableCommit(clickhouse, kind.table, recordColumns(kind), settings, now);
  const reader = createRecordReader({ ...deps, kind, table, localRecords, pending });
  const writer = createRecordWriter(deps, {
    kind,
    table,
    reader,
    commit,
    localRecords,
    ...(options.isOrphan === undefined ? {} : { isOrphan: options.isOrphan }),
    ...(options.reservedFor === undefined ? {} : { reservedFor: options.reservedFor }),
  });
  return {
    ...reader,
    ...writer,
    kind,
    table,
    lists: createRecordList(kind, table, deps, settings.read, pending),
    onChange({ records, names }) {
      const own = records.filter((record) => record.table === kind.table);
      for (const { workspaceId, id, version, isRemoved } of own) {
        const key = localKey(workspaceId, id);
        if (isRemoved) localRecords.delete(key);
        else localRecords.raise(key, version);
      }
      if (own.length > 0) reader.outdate([...own.map(({ workspaceId, id }) => localKey(workspaceId, id)), ...names]);
    },
    onGap() {
      localRecords.expireAll();
      reader.outdateAll();
    },
    close: commit.close,
  };
}
