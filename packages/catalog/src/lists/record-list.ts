import type { ClickHouseClient } from '@waymark/clickhouse';
import type { SortOrder } from '@waymark/contract';
import type { ReadList } from '../clickhouse/list-reads.js';
import { type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { type CatalogRecord, type EntityType, numberOf } from '../model/entity-type.js';
import type { PendingRecords } from '../pending/pending-records.js';
import { pendingStatements } from '../pending/pending-statements.js';
import type { RecordTable } from '../store/record-table.js';
import type { Condition } from './list-conditions.js';

/** An order of a list. */
export interface SortRule {
  /**
   * The SQL expression to sort by. For types with pending records it may use only `id`, `data` (empty while pending) and columns of `join`.
   */
  readonly by: string;
  /** A JOIN that adds columns of other tables, such as totals. */
  readonly join?: string;
}

/** A page of a list. */
export interface ListRequest {
  readonly conditions: readonly Condition[];
  readonly sort: SortRule;
  readonly order: SortOrder;
  readonly limit: number;
  readonly offset: number;
}

/** The order of creation, because ids begin with the time of creation. Every type has this order. */
export const BY_CREATION: SortRule = { by: 'id' };

/** Rounds in which a page is filled again whose records were removed while it was read. Further rounds read only what is new on it. */
const ROUNDS_MAX = 5;

/** Lists records of one type page by page. Records with equal sort values are ordered by id. */
export function createRecordList<R extends CatalogRecord>(
  kind: EntityType<R>,
  table: RecordTable<R>,
  { clickhouse, readList }: { readonly clickhouse: ClickHouseClient; readonly readList: ReadList },
  settings: Readonly<Record<string, number>>,
  pending?: PendingRecords<R>,
) {
  const from = (join: string, conditions: readonly Condition[]) =>
    `FROM ${kind.table} AS record FINAL ${join}
WHERE workspace_id = {workspace:UInt64} ${conditions.map(({ sql }) => `AND (${sql})`).join(' ')}`;

  const parametersOf = (workspaceId: string, conditions: readonly Condition[]): QueryParameters => ({
    ...Object.assign({}, ...conditions.map(({ values }) => values)),
    workspace: numberOf('workspace', workspaceId),
  });

  /** Ids of the pending records that meet the conditions. */
  async function pendingIds(workspaceId: string, conditions: readonly Condition[]): Promise<bigint[]> {
    const records = [...((await pending?.readAll(workspaceId)) ?? new Map<string, R>()).values()];
    if (kind.queued === undefined || records.length === 0) return [];
    const statements = pendingStatements(kind, kind.queued, workspaceId, records, conditions);
    const ids: bigint[] = [];
    for (const statement of statements) {
      const rows = await readList<[string]>({ ...statement, settings });
      ids.push(...rows.map(([number]) => BigInt(number)));
    }
    return ids;
  }

  /**
   * SQL for the ids of the table and of pending records. A record that the writer inserts between the two reads is in both, so ids can
   * repeat.
   */
  function withPendingIds({ by, join = '' }: SortRule, conditions: readonly Condition[]): string {
    return `(SELECT id, ${by} AS sorted_by ${from(join, conditions)}
UNION ALL
SELECT id, ${by} AS sorted_by FROM (SELECT arrayJoin({pending:Array(UInt64)}) AS id, '' AS data) AS record ${join})`;
  }

  /** The ids of a page. */
  async function listIds(workspaceId: string, request: ListRequest): Promise<string[]> {
    const { conditions, sort, order, limit, offset } = request;
    const direction = order === 'asc' ? 'ASC' : 'DESC';
    const keys = (by: string) => (by === 'id' ? `id ${direction}` : `${by} ${direction}, id ${direction}`);
    // Read before the table, so that a record which the writer inserts between the two reads is found there.
    const ids = await pendingIds(workspaceId, conditions);
    const source =
      ids.length === 0
        ? `${from(sort.join ?? '', conditions)} ORDER BY ${keys(sort.by)}`
        : `FROM ${withPendingIds(sort, conditions)} ORDER BY ${keys('sorted_by')} LIMIT 1 BY id`;
    const rows = await readList<[string]>({
      query: `SELECT id ${source} LIMIT {limit:UInt32} OFFSET {offset:UInt64}`,
      parameters: {
        ...parametersOf(workspaceId, conditions),
        ...(ids.length === 0 ? {} : { pending: ids }),
        limit,
        offset,
      },
      settings,
    });
    return rows.map(([number]) => table.publicId(number));
  }

  /** Reads those of the records that exist, from their table without caches, in the order of `ids`. */
  async function read(workspaceId: string, ids: readonly string[]): Promise<R[]> {
    const found = await Promise.all(ids.map((id) => table.get(workspaceId, id)));
    return found.flatMap((stored) => (stored === undefined ? [] : [stored.record]));
  }

  const countQuery = (workspaceId: string, conditions: readonly Condition[]) => ({
    query: `SELECT count() ${from('', conditions)}`,
    parameters: parametersOf(workspaceId, conditions),
    settings,
  });

  return {
    listIds,
    read,

    /**
     * A page of records. Finds their ids first, which reads small columns only, and then reads these records. Those that are removed in
     * between are replaced by the ones that follow, because a page with fewer than `limit` records is taken for the last one.
     */
    async list(workspaceId: string, request: ListRequest): Promise<R[]> {
      const found = new Map<string, R>();
      for (let round = 1; ; round++) {
        const ids = await listIds(workspaceId, request);
        const unread = ids.filter((id) => !found.has(id));
        for (const record of await read(workspaceId, unread)) found.set(record.id, record);
        const page = ids.flatMap((id) => found.get(id) ?? []);
        if (page.length === ids.length || ids.length < request.limit || round === ROUNDS_MAX) return page;
      }
    },

    /**
     * Ids above `afterId` in ascending order, without pending records. For walks that change records: they continue from an id, not from an
     * offset, so that they skip none.
     */
    async idsAfter(workspaceId: string, conditions: readonly Condition[], afterId: string | undefined, limit: number) {
      const rows = await queryRows<[string]>(clickhouse, {
        query: `SELECT id ${from('', conditions)} AND id > {after:UInt64} ORDER BY id LIMIT {limit:UInt32}`,
        parameters: {
          ...parametersOf(workspaceId, conditions),
          after: BigInt(afterId === undefined ? 0 : numberOf(kind.resource, afterId)),
          limit,
        },
        settings,
      });
      return rows.map(([number]) => table.publicId(number));
    },

    /** The number of records, without pending ones. Takes turns with the lists of other workspaces. */
    async count(workspaceId: string, conditions: readonly Condition[]): Promise<number> {
      const [row] = await readList<[string]>(countQuery(workspaceId, conditions));
      return Number(row?.[0] ?? 0);
    },

    /** As `count`, without waiting for lists: for what a request counts beforehand, of kinds of which a workspace has few records. */
    async countFew(workspaceId: string, conditions: readonly Condition[] = []): Promise<number> {
      const [row] = await queryRows<[string]>(clickhouse, countQuery(workspaceId, conditions));
      return Number(row?.[0] ?? 0);
    },
  };
}
export type RecordList<R extends CatalogRecord> = ReturnType<typeof createRecordList<R>>;
