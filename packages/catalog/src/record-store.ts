import { type ClickHouseClient, type EventRow, insertRows } from '@waymark/clickhouse';
import { createGroupCommit, type GroupCommit } from './group-commit.js';
import type { CatalogChange } from './invalidations.js';
import { type CatalogRecord, type Kind, recordColumns } from './kind.js';
import { createLocalRecords } from './local-cache.js';
import type { NamesTable } from './names-table.js';
import { createRecordReader, type RecordReader } from './record-reader.js';
import { createRecordTable, type RecordTable } from './record-table.js';
import { createRecordWriter, type RecordWriter, type WriteParts } from './record-writer.js';

/** Together with the time a lock's holder has for its work, less than the lock lives. */
const INSERT_SECONDS_MAX = 10;

export interface StoreParts extends WriteParts {
  readonly clickhouse: ClickHouseClient;
  readonly namesTable: NamesTable;
  readonly readSettings: Readonly<Record<string, string | number>>;
}

export interface StoreOptions<R extends CatalogRecord> {
  /** Records this process keeps. */
  readonly entriesMax: number;
  readonly isOrphan?: (record: R) => Promise<boolean>;
}

/** Everything one kind of resource can do: reads through the caches, writes under locks. */
export interface RecordStore<R extends CatalogRecord> extends RecordReader<R>, RecordWriter<R> {
  readonly table: RecordTable<R>;
  changed(change: CatalogChange): void;
  missed(): void;
  close(): Promise<void>;
}

/** Inserts of several writers as one. */
export function createTableCommit(
  clickhouse: ClickHouseClient,
  table: string,
  columns: readonly string[],
  now: () => number,
): GroupCommit {
  const insert = async (rows: readonly EventRow[]) => {
    await insertRows(clickhouse, { table, columns, rows, maxExecutionSeconds: INSERT_SECONDS_MAX });
  };
  return createGroupCommit({ insert, now });
}

export function createRecordStore<R extends CatalogRecord>(
  kind: Kind<R>,
  parts: StoreParts,
  options: StoreOptions<R>,
): RecordStore<R> {
  const { clickhouse, now } = parts;
  const table = createRecordTable(kind, clickhouse, parts.readSettings);
  const localRecords = createLocalRecords<R>({ entriesMax: options.entriesMax, staleMsMax: kind.staleMsMax, now });
  const commit = createTableCommit(clickhouse, kind.table, recordColumns(kind), now);
  const reader = createRecordReader({ ...parts, kind, table, localRecords });
  const writer = createRecordWriter(parts, {
    kind,
    table,
    reader,
    commit,
    localRecords,
    ...(options.isOrphan === undefined ? {} : { isOrphan: options.isOrphan }),
  });
  return {
    ...reader,
    ...writer,
    table,
    changed(change) {
      for (const { table: name, workspaceId, id, version } of change.records) {
        if (name === kind.table) localRecords.raise(`${workspaceId}/${id}`, version);
      }
    },
    missed: localRecords.expireAll,
    close: commit.close,
  };
}
