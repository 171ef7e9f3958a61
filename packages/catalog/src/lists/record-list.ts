import type { ClickHouseClient } from '@waymark/clickhouse';
import type { SortOrder } from '@waymark/contract';
import type { ReadList } from '../clickhouse/list-reads.js';
import { type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { type CatalogRecord, type EntityType, numberOf } from '../model/entity-type.js';
import { parseData } from '../model/parse-record.js';
import type { PendingRecords } from '../pending/pending-records.js';
import { pendingStatements } from '../pending/pending-statements.js';
import type { RecordTable } from '../store/record-table.js';
import { type FirstRows, firstRows, mayBeAmongFirst } from './first-rows.js';
import { andAll, matchNothing, type SqlCondition, valuesOf } from './list-conditions.js';

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
  readonly conditions: readonly SqlCondition[];
  readonly sort: SortRule;
  readonly order: SortOrder;
  readonly limit: number;
  readonly offset: number;
}

/** A page that begins next to a given record, in the order of creation. */
export interface CursorPage {
  readonly order: SortOrder;
  readonly limit: number;
  /** Public id of the given record, which may have been removed. */
  readonly id: string;
  readonly side: 'after' | 'before';
  /** Number of records between the given one and the page; 0 by default. */
  readonly offset?: number;
}

/** The order of creation, because ids begin with the time of creation. Every type has this order. */
export const BY_CREATION: SortRule = { by: 'id' };

/** The setting for reads of few rows, which take longer on several threads. */
const ON_ONE_THREAD = { max_threads: 1 };
/** Up to so many rows, reading all records of the rows is faster than a statement for the ids of the page and one for its records. */
const ROWS_WITH_RECORDS_MAX = 2_000;
/** Maximum number of reads of a page whose records are removed meanwhile. Reads after the first skip the records that were found already. */
const ROUNDS_MAX = 5;

/**
 * Lists records of one type page by page. Records with equal sort values are ordered by id. Where no record can meet the conditions, no
 * statement is run.
 */
export function createRecordList<R extends CatalogRecord>(
  kind: EntityType<R>,
  table: RecordTable<R>,
  { clickhouse, readList }: { readonly clickhouse: ClickHouseClient; readonly readList: ReadList },
  settings: Readonly<Record<string, number>>,
  pending?: PendingRecords<R>,
) {
  const from = (join: string, conditions: readonly SqlCondition[]) =>
    `FROM ${kind.table} AS record FINAL ${join}
WHERE workspace_id = {workspace:UInt64} ${andAll(conditions)}`;

  const parametersOf = (workspaceId: string, conditions: readonly SqlCondition[]): QueryParameters => ({
    ...valuesOf(conditions),
    workspace: numberOf('workspace', workspaceId),
  });

  /**
   * Ids of the pending records that meet the conditions. Call it before the table is read, so that a record which the writer inserts between
   * the two reads is found there.
   */
  async function readPendingIds(workspaceId: string, conditions: readonly SqlCondition[]): Promise<bigint[]> {
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
  function withPendingIds({ by, join = '' }: SortRule, conditions: readonly SqlCondition[]): string {
    return `(SELECT id, ${by} AS sorted_by ${from(join, conditions)}
UNION ALL
SELECT id, ${by} AS sorted_by FROM (SELECT arrayJoin({pending:Array(UInt64)}) AS id, '' AS data) AS record ${join})`;
  }

  /**
   * Reads a column of the rows of a page.
   *
   * @param column `data` only without pending records
   * @param pendingIds ids of pending records that meet the conditions
   * @param first looks only among these rows
   * @returns undefined when the page may contain other rows than the `first`
   */
  async function readColumn(
    workspaceId: string,
    { conditions, sort, order, limit, offset }: ListRequest,
    column: 'id' | 'data',
    pendingIds: readonly bigint[],
    first?: FirstRows,
  ): Promise<string[] | undefined> {
    const direction = order === 'asc' ? 'ASC' : 'DESC';
    const keys = (by: string) => (by === 'id' ? `id ${direction}` : `${by} ${direction}, id ${direction}`);
    const among: SqlCondition[] = first === undefined ? [] : [{ sql: first.condition, values: {} }];
    const all = [...conditions, ...among];
    const source =
      pendingIds.length === 0
        ? `${from(sort.join ?? '', all)} ORDER BY ${keys(sort.by)}`
        : `FROM ${withPendingIds(sort, all)} ${first === undefined ? '' : `WHERE ${first.isAll} OR ${first.condition}`}
ORDER BY ${keys('sorted_by')} LIMIT 1 BY id`;
    const threads = first === undefined && column === 'id' ? {} : ON_ONE_THREAD;
    const rows = await readList<[string, number?]>({
      query: `${first === undefined ? '' : `WITH ${first.definition}\n`}SELECT ${column}${first === undefined ? '' : `, ${first.isAll}`} ${source} LIMIT {limit:UInt32} OFFSET {offset:UInt64}`,
      parameters: {
        ...parametersOf(workspaceId, conditions),
        ...first?.parameters,
        ...(pendingIds.length === 0 ? {} : { pending: pendingIds }),
        limit,
        offset,
      },
      settings: { ...settings, ...threads },
    });
    const isWhole = first === undefined || rows.length === limit || rows[0]?.[1] === 1;
    return isWhole ? rows.map(([value]) => value) : undefined;
  }

  /** The rows in which the page is looked for first; undefined when it is looked for in all. */
  function firstRowsOf({ conditions, sort, order, limit, offset }: ListRequest): FirstRows | undefined {
    if (kind.isNumerous !== true || sort !== BY_CREATION || !mayBeAmongFirst(conditions)) return undefined;
    return firstRows(kind.table, conditions, order, offset + limit);
  }

  /** The ids of a page, which is looked for in the `first` rows before all. */
  async function pageIds(
    workspaceId: string,
    request: ListRequest,
    first: FirstRows | undefined,
    pendingIds: readonly bigint[],
  ): Promise<string[]> {
    const readIds = (among?: FirstRows) => readColumn(workspaceId, request, 'id', pendingIds, among);
    const numbers = (first && (await readIds(first))) ?? (await readIds()) ?? [];
    return numbers.map((number) => table.publicId(number));
  }

  /** Reads the records that exist, from their table without caches, in the order of `ids`. */
  async function read(workspaceId: string, ids: readonly string[]): Promise<R[]> {
    const found = await Promise.all(ids.map((id) => table.get(workspaceId, id)));
    return found.flatMap((stored) => (stored === undefined ? [] : [stored.record]));
  }

  /**
   * A page of records, by their ids. Those that are removed before they are read are replaced by the ones that follow, because a page with
   * fewer than `limit` records is taken for the last one.
   */
  async function listByIds(
    workspaceId: string,
    request: ListRequest,
    first: FirstRows | undefined,
    pendingIds: readonly bigint[],
  ): Promise<R[]> {
    const found = new Map<string, R>();
    for (let round = 1, pending = pendingIds; ; round++) {
      const ids = await pageIds(workspaceId, request, first, pending);
      const unread = ids.filter((id) => !found.has(id));
      for (const record of await read(workspaceId, unread)) found.set(record.id, record);
      const page = ids.flatMap((id) => found.get(id) ?? []);
      if (page.length === ids.length || ids.length < request.limit || round === ROUNDS_MAX) return page;
      pending = await readPendingIds(workspaceId, request.conditions);
    }
  }

  const countQuery = (workspaceId: string, conditions: readonly SqlCondition[]) => ({
    query: `SELECT count() ${from('', conditions)}`,
    parameters: parametersOf(workspaceId, conditions),
    settings,
  });

  /**
   * A page of records. Where few rows are read for it, one statement reads them with their records; otherwise the first one reads small
   * columns only, to find the ids of the page.
   */
  async function list(workspaceId: string, request: ListRequest): Promise<R[]> {
    if (matchNothing(request.conditions)) return [];
    const first = firstRowsOf(request);
    const isSmall = first === undefined ? kind.isNumerous !== true : first.count <= ROWS_WITH_RECORDS_MAX;
    const pendingIds = await readPendingIds(workspaceId, request.conditions);
    if (!isSmall || pendingIds.length > 0) return listByIds(workspaceId, request, first, pendingIds);
    const records = await readColumn(workspaceId, request, 'data', pendingIds, first);
    return records?.map((data) => parseData(kind, data)) ?? listByIds(workspaceId, request, undefined, pendingIds);
  }

  return {
    /** The ids of a page. */
    async listIds(workspaceId: string, request: ListRequest): Promise<string[]> {
      if (matchNothing(request.conditions)) return [];
      const pendingIds = await readPendingIds(workspaceId, request.conditions);
      return pageIds(workspaceId, request, firstRowsOf(request), pendingIds);
    },
    read,
    list,

    /** The oldest records of each value of a column, at most `limitEach` of each, by id, without pending ones. Takes turns with other lists. @param column constant SQL */
    async oldestOfEach(workspaceId: string, conditions: readonly SqlCondition[], column: string, limitEach: number) {
      if (matchNothing(conditions)) return [];
      const rows = await readList<[string]>({
        query: `SELECT data ${from('', conditions)} ORDER BY id LIMIT {each:UInt32} BY ${column}`,
        parameters: { ...parametersOf(workspaceId, conditions), each: limitEach },
        settings,
      });
      return rows.map(([data]) => parseData(kind, data));
    },

    /** The records before or after a given one, in the order of creation. */
    async listFrom(workspaceId: string, conditions: readonly SqlCondition[], page: CursorPage): Promise<R[]> {
      const { order, limit, id, side, offset = 0 } = page;
      const cursor = { cursor: BigInt(numberOf(kind.resource, id)) };
      // Records before the cursor are those after it in the opposite order, nearest first.
      const readOrder = side === 'after' ? order : order === 'asc' ? 'desc' : 'asc';
      const sql = readOrder === 'asc' ? 'id > {cursor:UInt64}' : 'id < {cursor:UInt64}';
      const found = await list(workspaceId, {
        conditions: [...conditions, { sql, values: cursor, selects: 'ids' }],
        sort: BY_CREATION,
        order: readOrder,
        limit,
        offset,
      });
      return side === 'after' ? found : found.reverse();
    },

    /**
     * Ids above `afterId` in ascending order, without pending records. For walks that change records: they continue from an id, not from an
     * offset, so that they skip none.
     */
    async idsAfter(
      workspaceId: string,
      conditions: readonly SqlCondition[],
      afterId: string | undefined,
      limit: number,
    ) {
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
    async count(workspaceId: string, conditions: readonly SqlCondition[]): Promise<number> {
      if (matchNothing(conditions)) return 0;
      const [row] = await readList<[string]>(countQuery(workspaceId, conditions));
      return Number(row?.[0] ?? 0);
    },

    /** As `count`, without waiting for lists: for types of which a workspace has few records, and checks before the work of a request. */
    async countFew(workspaceId: string, conditions: readonly SqlCondition[] = []): Promise<number> {
      const [row] = await queryRows<[string]>(clickhouse, countQuery(workspaceId, conditions));
      return Number(row?.[0] ?? 0);
    },
  };
}
export type RecordList<R extends CatalogRecord> = ReturnType<typeof createRecordList<R>>;
