import {
  type ClickHouseClient,
  createRowGroups,
  dateTimeText,
  EVENT_QUORUM_INSERT,
  insertLines,
  readEveryReplica,
} from '@waymark/clickhouse';
import { chunksOf } from '@waymark/contract';
import { EVENT_TABLES, type EventTableKind, type RowKey, rowKey, STORED_AT } from '@waymark/event-format';
import { joinRows } from '../queue/job-rows.js';

/** Reads and inserts of the table of one event kind. */
export interface EventTable {
  /** Whether an insert may be stored on one shard and not on another. */
  readonly isSharded: boolean;
  /** Whether this writer has the column list of that version. Jobs of other versions wait for a newer writer. */
  supports(version: number): boolean;
  /**
   * Inserts rows, with the current time as their time of storage; on a cluster with one insert for each shard. ClickHouse drops a repeat with
   * the same deduplication token.
   *
   * @param absent those of the rows that the table lacks: only these are inserted. By default all are
   */
  insert(version: number, rows: readonly string[], token: string, absent?: ReadonlySet<string>): Promise<void>;
  /** Returns the ids of those rows that the table contains, on a cluster on any replica. */
  findPresent(rows: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether rows may have moved to another shard since a time, epoch milliseconds. The new shard has no record of their tokens. */
  hasMovedSince(time: number): Promise<boolean>;
}

export interface EventTableOptions {
  readonly client: ClickHouseClient;
  readonly kind: EventTableKind;
  /** Name of the cluster in `system.clusters`; undefined: a single node. */
  readonly cluster?: string | undefined;
  /** Whether inserts wait for a majority of the replicas; false by default. */
  readonly waitsForQuorum?: boolean | undefined;
  readonly now: () => number;
}

const LOOKUP_ROWS_MAX = 2000;
const INSERT_SECONDS_MAX = 60;
/** Part of the token of an insert of those rows of a group that the table lacks. */
const REST = '-rest';

function columnsOf(kind: EventTableKind, version: number): readonly string[] | undefined {
  const lists: Readonly<Record<number, readonly string[]>> = EVENT_TABLES[kind].columns;
  return lists[version];
}

const ROW_END = ']';

/** Appends the time of storage to a row. Text that is no row is returned unchanged, and ClickHouse refuses it. */
function withStoredAt(row: string, storedAtMs: number): string {
  return row.endsWith(ROW_END) ? `${row.slice(0, -ROW_END.length)},${storedAtMs}${ROW_END}` : row;
}

/** Creates the access to the table of `kind`. */
export function createEventTable(options: EventTableOptions): EventTable {
  const { client, kind, cluster, now } = options;
  const { table, idColumn } = EVENT_TABLES[kind];
  const groups = createRowGroups(client, { cluster, now });
  const settings = options.waitsForQuorum === true ? EVENT_QUORUM_INSERT : undefined;

  const findIds = async (keys: readonly RowKey[]): Promise<ReadonlySet<string>> => {
    const times = keys.map(({ timestampMs }) => timestampMs);
    // The primary key is (workspace, time): the time range limits the read to a few granules.
    const where = `workspace_id IN {workspaces:Array(UInt64)}
          AND timestamp BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}
          AND ${idColumn} IN {ids:Array(String)}`;
    const parameters = {
      // Strings would be sent in quotes, which ClickHouse refuses in an array of numbers.
      workspaces: [...new Set(keys.map(({ workspaceId }) => workspaceId))].map(BigInt),
      from: dateTimeText(Math.min(...times)),
      to: dateTimeText(Math.max(...times)),
      ids: keys.map(({ eventId }) => eventId),
    };
    const value = `toString(${idColumn})`;
    if (cluster !== undefined) return readEveryReplica(client, { cluster, table, value, where, parameters });
    const rows = await client.rows<[string]>({ query: `SELECT ${value} FROM ${table} WHERE ${where}`, parameters });
    return new Set(rows.map(([id]) => id));
  };

  return {
    isSharded: cluster !== undefined,
    hasMovedSince: groups.hasMovedSince,
    supports: (version) => columnsOf(kind, version) !== undefined,

    async insert(version, rows, token, absent) {
      const columns = columnsOf(kind, version);
      if (columns === undefined) throw new TypeError(`no columns of ${kind} version ${version}`);
      const divided = await groups.groupsOf(rows, (row) => rowKey(row)?.workspaceId ?? '0');
      const storedAtMs = now();
      const inserts = divided.map((group) => {
        const inserted = absent === undefined ? group.rows : group.rows.filter((row) => absent.has(row));
        // With the token of the whole group, a server that has some of its rows might drop the rest as a repeat. If it has none, the token
        // stays the same, because an earlier insert of the group may be running still.
        const rest = inserted.length < group.rows.length ? REST : '';
        return insertLines(client, {
          table,
          columns: [...columns, STORED_AT],
          lines: joinRows(inserted.map((row) => withStoredAt(row, storedAtMs))),
          deduplicationToken: token + rest + group.name,
          maxExecutionSeconds: INSERT_SECONDS_MAX,
          settings,
        });
      });
      // Waits for all inserts, so that none of them is still running when a repeat begins, except those whose answers the client has given up.
      for (const outcome of await Promise.allSettled(inserts)) if (outcome.status === 'rejected') throw outcome.reason;
    },

    async findPresent(rows) {
      const keys = rows.map(rowKey).filter((key) => key !== undefined);
      keys.sort((one, other) => one.timestampMs - other.timestampMs);
      const present = new Set<string>();
      for (const some of chunksOf(keys, LOOKUP_ROWS_MAX)) for (const id of await findIds(some)) present.add(id);
      return present;
    },
  };
}
