import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { createBatchLoader } from './batch-loader.js';
import { type CatalogRecord, type Kind, numberOf, type Stored } from './kind.js';

const READ_SECONDS_MAX = 5;
const RECORDS_PER_READ = 200;

/** Values of a constant SQL tail, by parameter name. `workspace` is always there. */
export type SelectParameters = Readonly<Record<string, string | number | boolean | readonly bigint[]>>;

interface RecordId {
  readonly workspaceId: string;
  readonly number: string;
}

/** Reads of one kind's table, always of one workspace. */
export function createRecordTable<R extends CatalogRecord>(
  kind: Kind<R>,
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, string | number>>,
) {
  async function select(workspaceId: string, tail: string, parameters: SelectParameters): Promise<Stored<R>[]> {
    const result = await clickhouse.query({
      query: `SELECT version, data FROM ${kind.table} FINAL WHERE workspace_id = {workspace:UInt64} ${tail}`,
      query_params: { ...parameters, workspace: numberOf('workspace', workspaceId) },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...settings, max_execution_time: READ_SECONDS_MAX },
    });
    const rows = await result.json<[string, string]>();
    return rows.map(([version, data]) => ({ version: Number(version), record: parseData(kind, data) }));
  }

  const look = createBatchLoader<RecordId, Stored<R>>({
    identify: ({ workspaceId, number }) => `${workspaceId}/${number}`,
    group: ({ workspaceId }) => workspaceId,
    async load(ids) {
      const workspaceId = ids[0]?.workspaceId ?? '';
      const found = await select(workspaceId, 'AND id IN ({ids:Array(UInt64)})', {
        ids: ids.map(({ number }) => BigInt(number)),
      });
      return new Map(
        found.map((stored) => [`${workspaceId}/${numberOf(kind.resource, stored.record.id)}`, stored] as const),
      );
    },
    batchSizeMax: RECORDS_PER_READ,
    concurrentReadsMax: 4,
  });

  return {
    /** Records that are their own workspace, by id. */
    async selectWorkspaces(numbers: readonly string[]): Promise<R[]> {
      const result = await clickhouse.query({
        query: `SELECT data FROM ${kind.table} FINAL WHERE workspace_id IN ({workspaces:Array(UInt64)}) ORDER BY workspace_id`,
        query_params: { workspaces: numbers.map(BigInt) },
        format: 'JSONCompactEachRow',
        clickhouse_settings: { ...settings, max_execution_time: READ_SECONDS_MAX },
      });
      return (await result.json<[string]>()).map(([data]) => parseData(kind, data));
    },

    /** The record as the table has it at or after the call. */
    get(workspaceId: string, id: string): Promise<Stored<R> | undefined> {
      return look({ workspaceId, number: numberOf(kind.resource, id) });
    },

    /** @param tail constant SQL after the workspace condition; values only through `parameters` */
    select,

    /** How many records were ever made with ids from `fromNumber` on, removed ones included. */
    async countEver(workspaceId: string, fromNumber: bigint, tail: string): Promise<number> {
      const result = await clickhouse.query({
        query: `SELECT uniqExact(id) FROM ${kind.table}
WHERE workspace_id = {workspace:UInt64} AND id >= {from:UInt64} ${tail}`,
        query_params: { from: fromNumber, workspace: numberOf('workspace', workspaceId) },
        format: 'JSONCompactEachRow',
        clickhouse_settings: { ...settings, max_execution_time: READ_SECONDS_MAX },
      });
      const rows = await result.json<[string]>();
      return Number(rows[0]?.[0] ?? 0);
    },

    publicId: (number: string) => formatResourceId(kind.resource, number),
  };
}
export type RecordTable<R extends CatalogRecord> = ReturnType<typeof createRecordTable<R>>;

/** A record from its stored JSON. */
export function parseData<R extends CatalogRecord>(kind: Kind<R>, data: string): R {
  return kind.schema.parse(JSON.parse(data));
}
