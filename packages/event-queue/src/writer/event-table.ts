import { type ClickHouseClient, dateTimeText, insertLines } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventTableKind, type RowKey, rowKey, STORED_AT } from '@waymark/event-format';
import { joinRows } from '../queue/job-rows.js';

/** Reads and inserts of the table of one event kind. */
export interface EventTable {
  /** Whether this writer has the column list of that version. Jobs of other versions wait for a newer writer. */
  supports(version: number): boolean;
  /** Inserts rows, with the time as that of their storage. ClickHouse drops a repeat with the same deduplication token. */
  insert(version: number, rows: readonly string[], token: string): Promise<void>;
  /** Returns the ids of those rows that the table contains. */
  findPresent(rows: readonly string[]): Promise<ReadonlySet<string>>;
}

const LOOKUP_ROWS_MAX = 2000;
const INSERT_SECONDS_MAX = 60;

function columnsOf(kind: EventTableKind, version: number): readonly string[] | undefined {
  const lists: Readonly<Record<number, readonly string[]>> = EVENT_TABLES[kind].columns;
  return lists[version];
}

const ROW_END = ']';

/** The row with one more value. Text that is no row stays as it is: ClickHouse refuses it. */
function withStoredAt(row: string, storedAtMs: number): string {
  return row.endsWith(ROW_END) ? `${row.slice(0, -ROW_END.length)},${storedAtMs}${ROW_END}` : row;
}

/** Creates the access to the table of `kind`. */
export function createEventTable(
  client: ClickHouseClient,
  kind: EventTableKind,
  now: () => number = Date.now,
): EventTable {
  const { table, idColumn } = EVENT_TABLES[kind];

  const findIds = async (keys: readonly RowKey[]): Promise<string[]> => {
    const times = keys.map(({ timestampMs }) => timestampMs);
    const rows = await client.rows<[string]>({
      // The primary key is (workspace, time): the time range limits the read to a few granules.
      query: `SELECT toString(${idColumn}) FROM ${table}
        WHERE workspace_id IN {workspaces:Array(UInt64)}
          AND timestamp BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}
          AND ${idColumn} IN {ids:Array(String)}`,
      parameters: {
        // Strings would be sent in quotes, which ClickHouse refuses in an array of numbers.
        workspaces: [...new Set(keys.map(({ workspaceId }) => workspaceId))].map(BigInt),
        from: dateTimeText(Math.min(...times)),
        to: dateTimeText(Math.max(...times)),
        ids: keys.map(({ eventId }) => eventId),
      },
    });
    return rows.map(([id]) => id);
  };

  return {
    supports: (version) => columnsOf(kind, version) !== undefined,

    async insert(version, rows, token) {
      const columns = columnsOf(kind, version);
      if (columns === undefined) throw new TypeError(`no columns of ${kind} version ${version}`);
      const storedAtMs = now();
      await insertLines(client, {
        table,
        columns: [...columns, STORED_AT],
        lines: joinRows(rows.map((row) => withStoredAt(row, storedAtMs))),
        deduplicationToken: token,
        maxExecutionSeconds: INSERT_SECONDS_MAX,
      });
    },

    async findPresent(rows) {
      const keys = rows.map(rowKey).filter((key) => key !== undefined);
      keys.sort((one, other) => one.timestampMs - other.timestampMs);
      const present = new Set<string>();
      for (let start = 0; start < keys.length; start += LOOKUP_ROWS_MAX) {
        for (const id of await findIds(keys.slice(start, start + LOOKUP_ROWS_MAX))) present.add(id);
      }
      return present;
    },
  };
}
