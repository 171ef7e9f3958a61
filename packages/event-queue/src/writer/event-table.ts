import { type ClickHouseClient, insertLines } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventTableKind, type RowKey, rowKey } from '@waymark/event-format';
import { joinRows } from '../queue/job-rows.js';

/** The table of one event kind, as the writer uses it. */
export interface EventTable {
  /** Column lists this writer knows. A job of another version waits for a newer writer. */
  knows(version: number): boolean;
  /** One insert. Repeated under its token it does nothing. */
  insert(version: number, rows: readonly string[], token: string): Promise<void>;
  /** Ids of those rows that the table has already. */
  findPresent(rows: readonly string[]): Promise<ReadonlySet<string>>;
}

const LOOKUP_ROWS_MAX = 2000;
const INSERT_SECONDS_MAX = 60;

function columnsOf(kind: EventTableKind, version: number): readonly string[] | undefined {
  const lists: Readonly<Record<number, readonly string[]>> = EVENT_TABLES[kind].columns;
  return lists[version];
}

/** As ClickHouse reads a DateTime64(3, 'UTC') parameter: numbers and a trailing Z are refused. */
function dateTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, -1).replace('T', ' ');
}

/** The table of `kind` behind `client`. */
export function createEventTable(client: ClickHouseClient, kind: EventTableKind): EventTable {
  const { table, idColumn } = EVENT_TABLES[kind];

  const lookUp = async (keys: readonly RowKey[]): Promise<string[]> => {
    const times = keys.map(({ timestampMs }) => timestampMs);
    const rows = await client.rows<[string]>({
      // The primary key is (workspace, time): the range keeps the read to the granules of that moment.
      query: `SELECT toString(${idColumn}) FROM ${table}
        WHERE workspace_id IN {workspaces:Array(UInt64)}
          AND timestamp BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}
          AND ${idColumn} IN {ids:Array(String)}`,
      parameters: {
        // Texts would arrive in quotes, which an array of numbers does not take.
        workspaces: [...new Set(keys.map(({ workspaceId }) => workspaceId))].map(BigInt),
        from: dateTime(Math.min(...times)),
        to: dateTime(Math.max(...times)),
        ids: keys.map(({ eventId }) => eventId),
      },
    });
    return rows.map(([id]) => id);
  };

  return {
    knows: (version) => columnsOf(kind, version) !== undefined,

    async insert(version, rows, token) {
      const columns = columnsOf(kind, version);
      if (columns === undefined) throw new TypeError(`no columns of ${kind} version ${version}`);
      await insertLines(client, {
        table,
        columns,
        lines: joinRows(rows),
        deduplicationToken: token,
        maxExecutionSeconds: INSERT_SECONDS_MAX,
      });
    },

    async findPresent(rows) {
      const keys = rows.map(rowKey).filter((key) => key !== undefined);
      keys.sort((one, other) => one.timestampMs - other.timestampMs);
      const present = new Set<string>();
      for (let start = 0; start < keys.length; start += LOOKUP_ROWS_MAX) {
        for (const id of await lookUp(keys.slice(start, start + LOOKUP_ROWS_MAX))) present.add(id);
      }
      return present;
    },
  };
}
