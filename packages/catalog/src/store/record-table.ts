import { setImmediate as immediate } from 'node:timers/promises';
import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { keyReadSettings, type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { dataWithEmpty } from '../lists/list-conditions.js';
import { type CatalogRecord, type EntityType, numberOf, type Stored } from '../model/entity-type.js';
import { createRecordParser, type ParsedRows, type ParserDeps, parseData } from '../model/parse-record.js';

/**
 * Maximum number of records in one statement. Their ids are sent in its URL, and its result is held in memory: domains of the largest size
 * together have some 100 MB.
 */
const RECORDS_PER_READ = 200;
/** Keys in a page of {@link RecordTable.versionsEverywhere}: one is parsed in a few milliseconds. */
const KEYS_PER_PAGE = 10_000;
/** After so many characters of records, reads yield to the event loop. */
const CHARS_PER_YIELD = 500_000;

/** For rows that may have a megabyte: ClickHouse holds several copies of a block in memory. */
const OF_LONG_ROWS = { max_block_size: 16, max_threads: 1 };

/** How the tables are read. */
export interface TableReads {
  /** Settings of every statement. */
  readonly read: Readonly<Record<string, number>>;
  /** Whether one server has the records of all workspaces, so that one statement may look up those of several. */
  readonly isOneServer: boolean;
}

/** A record by the UInt64 of its ids as decimal text. */
interface RecordNumber {
  readonly workspaceNumber: string;
  readonly number: string;
}

/** A row of the table. */
interface Row {
  readonly version: string;
  readonly data: string;
}

/** A row by the UInt64 of its ids as decimal text. */
type DataRow = [workspace: string, number: string, data: string];

/** Identifies a record of a table, by the UInt64 of its ids. */
export const recordKeyText = (workspaceNumber: string, number: string) => `${workspaceNumber}/${number}`;

/** The UInt64 of the ids of a workspace and of one of its records, as decimal text. */
export type RecordKey = readonly [workspace: string, number: string];

/** Creates a function that is called with each text that was parsed, and yields to the event loop after {@link CHARS_PER_YIELD}. */
function createYielding() {
  let chars = 0;
  return (data: string): Promise<void> | undefined => {
    chars += data.length;
    if (chars < CHARS_PER_YIELD) return undefined;
    chars = 0;
    return immediate();
  };
}

/** Reads from the table of one type, without caches. */
export function createRecordTable<R extends CatalogRecord>(
  kind: EntityType<R>,
  clickhouse: ClickHouseClient,
  { read: settings, isOneServer }: TableReads,
  parser: ParserDeps,
) {
  const parseRow = createRecordParser(kind, parser);
  const storedOf = ({ version, data }: Row): Stored<R> => ({ version: Number(version), record: parseData(kind, data) });

  async function select(workspaceId: string, tail: string, parameters: QueryParameters): Promise<Stored<R>[]> {
    const rows = await queryRows<[string, string]>(clickhouse, {
      query: `SELECT version, data FROM ${kind.table} FINAL WHERE workspace_id = {workspace:UInt64} ${tail}`,
      parameters: { ...parameters, workspace: numberOf('workspace', workspaceId) },
      settings,
    });
    return rows.map(([version, data]) => storedOf({ version, data }));
  }

  /** Rows of all workspaces, by id. */
  const selectRows = (condition: string, parameters: QueryParameters, data = 'data', more?: TableReads['read']) =>
    queryRows<DataRow>(clickhouse, {
      query: `SELECT workspace_id, id, ${data} FROM ${kind.table} FINAL WHERE ${condition} ORDER BY id`,
      parameters,
      settings: { ...settings, ...more },
    });

  async function parseReadable(rows: readonly DataRow[]): Promise<ParsedRows<R>> {
    const records: R[] = [];
    const unreadable: string[] = [];
    const mayYield = createYielding();
    for (const [workspace, number, data] of rows) {
      const record = parseRow(workspace, number, data);
      if (record === undefined) unreadable.push(formatResourceId(kind.resource, number));
      else records.push(record);
      await mayYield(data);
    }
    return { records, unreadable };
  }

  // With PREWHERE, ClickHouse does not read the data of neighbouring rows. With FINAL it is correct only for columns that all versions
  // share.
  const BY_KEYS = `SELECT workspace_id, id, version, data FROM ${kind.table} FINAL PREWHERE`;
  const IN_ONE = `${BY_KEYS} workspace_id = {workspace:UInt64} AND id IN ({ids:Array(UInt64)})`;
  const IN_SEVERAL = `${BY_KEYS} (workspace_id, id) IN (arrayZip({workspaces:Array(UInt64)}, {ids:Array(UInt64)}))`;

  /** The rows by the workspace and the id that each of them has, so that one is found only by calls that ask for both. */
  async function readRows(keys: readonly RecordNumber[]): Promise<ReadonlyMap<string, Row>> {
    const ids = keys.map(({ number }) => BigInt(number));
    const workspaces = keys.map(({ workspaceNumber }) => BigInt(workspaceNumber));
    const [workspace = 0n] = workspaces;
    const isOne = workspaces.every((each) => each === workspace);
    const rows = await queryRows<[string, string, string, string]>(clickhouse, {
      ...(isOne
        ? { query: IN_ONE, parameters: { workspace, ids } }
        : { query: IN_SEVERAL, parameters: { workspaces, ids } }),
      settings: { ...settings, ...keyReadSettings(keys.length) },
    });
    return new Map(
      rows.map(([workspaceNumber, number, version, data]) => [
        recordKeyText(workspaceNumber, number),
        { version, data },
      ]),
    );
  }

  const lookUp = createDataLoader<RecordNumber, Row>({
    identify: ({ workspaceNumber, number }) => recordKeyText(workspaceNumber, number),
    // On a cluster, look-ups of a shard that is away would fail those of other shards; they still share the four slots.
    group: ({ workspaceNumber }) => (isOneServer ? '' : workspaceNumber),
    load: readRows,
    batchSizeMax: RECORDS_PER_READ,
    concurrentReadsMax: 4,
  });

  return {
    /** Records of all workspaces, by id. @param condition constant SQL; values are passed only as `parameters` */
    async selectEverywhere(condition: string, parameters: QueryParameters): Promise<R[]> {
      return (await selectRows(condition, parameters)).map(([, , data]) => parseData(kind, data));
    },

    /** The same, and the rows that cannot be read apart: one of them must not stop the work for all workspaces. Parsing yields to the event loop. */
    async selectReadable(condition: string, parameters: QueryParameters): Promise<ParsedRows<R>> {
      return parseReadable(await selectRows(condition, parameters));
    },

    /** {@link selectReadable} without fields whose values may be long. @param fields objects and lists, which are empty in what ClickHouse answers */
    async selectWithout<K extends keyof R & string>(
      fields: readonly K[],
      condition: string,
      parameters: QueryParameters,
    ): Promise<ParsedRows<Omit<R, K>>> {
      return parseReadable(await selectRows(condition, parameters, dataWithEmpty(fields), OF_LONG_ROWS));
    },

    /** Keys of records of all workspaces, those first that have not changed for longest. @param condition constant SQL */
    keysEverywhere(condition: string, limit: number): Promise<RecordKey[]> {
      // The version of a changed record is the time of the change, or later; that of a new one is 1.
      const query = `SELECT workspace_id, id FROM ${kind.table} FINAL WHERE ${condition}
ORDER BY greatest(version, toUInt64(toUnixTimestamp64Milli(created_at))), id LIMIT {limit:UInt32}`;
      return queryRows<[string, string]>(clickhouse, { query, parameters: { limit }, settings });
    },

    /**
     * Keys and versions of records of all workspaces, in pages. Records that are stored at the time of the call are in one of them.
     *
     * @param condition constant SQL
     */
    async *versionsEverywhere(
      condition: string,
    ): AsyncGenerator<readonly (readonly [...RecordKey, version: string])[]> {
      const query = `SELECT workspace_id, id, version FROM ${kind.table} FINAL WHERE (${condition})
AND (workspace_id > {workspace:UInt64} OR (workspace_id = {workspace:UInt64} AND id > {id:UInt64}))
ORDER BY workspace_id, id LIMIT ${KEYS_PER_PAGE}`;
      for (let workspace = '0', id = '0'; ; ) {
        const page = await queryRows<[string, string, string]>(clickhouse, {
          query,
          settings,
          parameters: { workspace, id },
        });
        yield page;
        const last = page.at(-1);
        if (last === undefined || page.length < KEYS_PER_PAGE) return;
        [workspace, id] = last;
      }
    },

    /** Records of a workspace. Parsing them yields to the event loop. @param numbers the UInt64 of their ids */
    async selectByNumbers(workspace: string, numbers: readonly string[]): Promise<Stored<R>[]> {
      const rows = await queryRows<[string, string, string, string]>(clickhouse, {
        query: IN_ONE,
        parameters: { workspace, ids: numbers.map(BigInt) },
        settings: { ...settings, ...keyReadSettings(numbers.length) },
      });
      const found: Stored<R>[] = [];
      const mayYield = createYielding();
      for (const [, , version, data] of rows) {
        found.push(storedOf({ version, data }));
        await mayYield(data);
      }
      return found;
    },

    /** The record as it is in the table at the time of the call, or later. Concurrent calls share a statement. */
    async get(workspaceId: string, id: string): Promise<Stored<R> | undefined> {
      const workspaceNumber = numberOf('workspace', workspaceId);
      const row = await lookUp({ workspaceNumber, number: numberOf(kind.resource, id) });
      // Parsed here, so that a record which does not fit the schema is an error only for the calls that ask for it.
      return row && storedOf(row);
    },

    /** Records of a workspace. @param tail constant SQL after the workspace condition; values are passed only as `parameters` */
    select,

    /** Values of the records of a workspace, for records that may be long. @param values constant SQL @param tail as in `select` */
    selectValues<Values extends readonly unknown[]>(
      workspaceId: string,
      values: string,
      tail: string,
    ): Promise<Values[]> {
      return queryRows<Values>(clickhouse, {
        query: `SELECT ${values} FROM ${kind.table} FINAL WHERE workspace_id = {workspace:UInt64} ${tail}`,
        parameters: { workspace: numberOf('workspace', workspaceId) },
        settings: { ...settings, ...OF_LONG_ROWS },
      });
    },

    /** The ids of the workspaces that have such records. @param condition constant SQL; values are passed only as `parameters` */
    async workspacesWith(condition: string, parameters: QueryParameters): Promise<string[]> {
      const query = `SELECT DISTINCT workspace_id FROM ${kind.table} FINAL WHERE ${condition} ORDER BY workspace_id`;
      const rows = await queryRows<[string]>(clickhouse, { query, parameters, settings });
      return rows.map(([number]) => formatResourceId('workspace', number));
    },

    /** The number of records with ids from `fromNumber` on, including removed ones. @param tail as in `select` */
    async countEver(workspaceId: string, fromNumber: bigint, tail: string): Promise<number> {
      const [row] = await queryRows<[string]>(clickhouse, {
        query: `SELECT uniqExact(id) FROM ${kind.table}
WHERE workspace_id = {workspace:UInt64} AND id >= {from:UInt64} ${tail}`,
        parameters: { from: fromNumber, workspace: numberOf('workspace', workspaceId) },
        settings,
      });
      return Number(row?.[0] ?? 0);
    },

    /**
     * When the last of the removed records that had met the condition was removed, epoch milliseconds; undefined when there is none.
     *
     * @param condition constant SQL over the columns; values are passed only as `parameters`
     */
    async removedAt(workspaceId: string, condition: string, parameters: QueryParameters): Promise<number | undefined> {
      // The row of a removal has the time as its version.
      const [row] = await queryRows<[string]>(clickhouse, {
        query: `SELECT toString(max(version)) FROM ${kind.table}
WHERE workspace_id = {workspace:UInt64} AND deleted = 1 AND ${condition}`,
        parameters: { ...parameters, workspace: numberOf('workspace', workspaceId) },
        settings,
      });
      const version = Number(row?.[0] ?? 0);
      return version === 0 ? undefined : version;
    },

    publicId: (number: string) => formatResourceId(kind.resource, number),
  };
}
export type RecordTable<R extends CatalogRecord> = ReturnType<typeof createRecordTable<R>>;
