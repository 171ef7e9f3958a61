import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { keyReadSettings, type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { type CatalogRecord, type EntityType, numberOf, type Stored } from '../model/entity-type.js';

/** Maximum number of records in one statement, because their ids are sent in its URL. */
const RECORDS_PER_READ = 1_000;

interface RecordId {
  readonly workspaceId: string;
  readonly number: string;
}

/** Reads from the table of one type, without caches. */
export function createRecordTable<R extends CatalogRecord>(
  kind: EntityType<R>,
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, number>>,
) {
  const records = async (
    query: string,
    workspaceId: string,
    parameters: QueryParameters,
    own: Readonly<Record<string, number>> = {},
  ): Promise<Stored<R>[]> => {
    const workspace = numberOf('workspace', workspaceId);
    const rows = await queryRows<[string, string]>(clickhouse, {
      query,
      parameters: { ...parameters, workspace },
      settings: { ...settings, ...own },
    });
    return rows.map(([version, data]) => ({ version: Number(version), record: parseData(kind, data) }));
  };

  function select(workspaceId: string, tail: string, parameters: QueryParameters): Promise<Stored<R>[]> {
    const query = `SELECT version, data FROM ${kind.table} FINAL WHERE workspace_id = {workspace:UInt64} ${tail}`;
    return records(query, workspaceId, parameters);
  }

  // With PREWHERE, ClickHouse does not read the data of neighbouring rows. With FINAL it is correct only for columns that all versions
  // share.
  const BY_IDS = `SELECT version, data FROM ${kind.table} FINAL
PREWHERE workspace_id = {workspace:UInt64} AND id IN ({ids:Array(UInt64)})`;

  const lookUp = createDataLoader<RecordId, Stored<R>>({
    identify: ({ workspaceId, number }) => `${workspaceId}/${number}`,
    group: ({ workspaceId }) => workspaceId,
    async load(ids) {
      const workspaceId = ids[0]?.workspaceId ?? '';
      const numbers = ids.map(({ number }) => BigInt(number));
      const found = await records(BY_IDS, workspaceId, { ids: numbers }, keyReadSettings(ids.length));
      return new Map(
        found.map((stored) => [`${workspaceId}/${numberOf(kind.resource, stored.record.id)}`, stored] as const),
      );
    },
    batchSizeMax: RECORDS_PER_READ,
    concurrentReadsMax: 4,
  });

  return {
    /** Records of the type `workspace`, by id. @param numbers the UInt64 of their ids, ascending */
    async selectWorkspaces(numbers: readonly string[]): Promise<R[]> {
      const query = `SELECT data FROM ${kind.table} FINAL WHERE workspace_id IN ({workspaces:Array(UInt64)}) ORDER BY workspace_id`;
      const found: R[] = [];
      for (let start = 0; start < numbers.length; start += RECORDS_PER_READ) {
        const workspaces = numbers.slice(start, start + RECORDS_PER_READ).map(BigInt);
        const rows = await queryRows<[string]>(clickhouse, { query, parameters: { workspaces }, settings });
        for (const [data] of rows) found.push(parseData(kind, data));
      }
      return found;
    },

    /** Records of all workspaces, by id. @param condition constant SQL; values are passed only as `parameters` */
    async selectEverywhere(condition: string, parameters: QueryParameters): Promise<R[]> {
      const query = `SELECT data FROM ${kind.table} FINAL WHERE ${condition} ORDER BY id`;
      const rows = await queryRows<[string]>(clickhouse, { query, parameters, settings });
      return rows.map(([data]) => parseData(kind, data));
    },

    /** The record as it is in the table at the time of the call, or later. Concurrent calls share a statement. */
    get(workspaceId: string, id: string): Promise<Stored<R> | undefined> {
      return lookUp({ workspaceId, number: numberOf(kind.resource, id) });
    },

    /** Records of a workspace. @param tail constant SQL after the workspace condition; values are passed only as `parameters` */
    select,

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

    publicId: (number: string) => formatResourceId(kind.resource, number),
  };
}
export type RecordTable<R extends CatalogRecord> = ReturnType<typeof createRecordTable<R>>;

/** Parses the stored JSON of a record. @throws Error when it does not fit the schema */
export function parseData<R extends CatalogRecord>(kind: EntityType<R>, data: string): R {
  return kind.schema.parse(JSON.parse(data));
}
