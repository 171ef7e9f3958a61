import type { ClickHouseClient } from '@waymark/clickhouse';
import type { SortOrder } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { BY_CREATION } from '../store/record-list.js';
import type { RecordStore } from '../store/record-store.js';
import { type LinkFilters, linkConditions, newestRows } from './link-filters.js';

/** Sorts of a list of links by what their events add up to: the column of `link_totals`, and how its rows are merged. */
export const TOTAL_COLUMNS = {
  clicks: { column: 'clicks', total: 'sum(clicks)' },
  saleAmount: { column: 'sale_amount', total: 'sum(sale_amount)' },
  lastClicked: { column: 'last_clicked', total: 'max(last_clicked)' },
} as const;
type TotalSort = keyof typeof TOTAL_COLUMNS;

export type LinkSort = 'createdAt' | TotalSort;

export function isTotalSort(sort: LinkSort): sort is TotalSort {
  return sort in TOTAL_COLUMNS;
}

export interface TopPage {
  readonly filters: LinkFilters;
  readonly sortBy: TotalSort;
  readonly sortOrder: SortOrder;
  readonly limit: number;
  readonly offset: number;
}

/** Pages that end later are read by a join of all links with all totals. */
const END_MAX = 5_000;
/** Beyond the page's end, for links that are archived or were removed. */
const SPARE = 50;
/** Oldest links read for each requested link without a total, because most links of a workspace may have one. */
const LOOKED_AT_FOR_EACH = 10;
/** So many of them are read at once with the first page: a second read takes longer than all of these. */
const SPARE_READ = 20;

/**
 * First pages of all links of a workspace by a total, without joining all links with all totals: the highest totals are looked
 * up first, their links after. Links without a total, or with none of what is sorted by, follow those that have one.
 */
export function createLinkTops(parts: {
  readonly store: RecordStore<LinkRecord>;
  readonly clickhouse: ClickHouseClient;
  readonly settings: Readonly<Record<string, number>>;
}) {
  const { store, clickhouse, settings } = parts;
  const { lists } = store;

  /** Ids of the links with the highest totals; links with none are left out. */
  async function highest(workspaceId: string, sort: TotalSort, limit: number): Promise<string[]> {
    const { column } = TOTAL_COLUMNS[sort];
    const rows = await queryRows<[string]>(clickhouse, {
      query: `SELECT link_id FROM link_totals FINAL WHERE workspace_id = {workspace:UInt64} AND toInt64(${column}) > 0
ORDER BY ${column} DESC, link_id DESC LIMIT {limit:UInt32}`,
      parameters: { workspace: numberOf('workspace', workspaceId), limit },
      settings,
    });
    return rows.map(([number]) => store.table.publicId(number));
  }

  /** Those of the links that have something of it. */
  async function withTotal(workspaceId: string, sort: TotalSort, ids: readonly string[]): Promise<Set<string>> {
    const rows = await queryRows<[string]>(clickhouse, {
      query: `SELECT link_id FROM link_totals WHERE workspace_id = {workspace:UInt64} AND link_id IN ({ids:Array(UInt64)})
GROUP BY link_id HAVING toInt64(${TOTAL_COLUMNS[sort].total}) > 0`,
      parameters: {
        workspace: numberOf('workspace', workspaceId),
        ids: ids.map((id) => BigInt(numberOf('link', id))),
      },
      settings,
    });
    return new Set(rows.map(([number]) => store.table.publicId(number)));
  }

  /** The listed ones of the links, in the same order. */
  async function listed(workspaceId: string, ids: readonly string[], filters: LinkFilters): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const rows = await queryRows<[string]>(clickhouse, {
      query: `SELECT id FROM links FINAL PREWHERE workspace_id = {workspace:UInt64} AND id IN ({ids:Array(UInt64)})
WHERE ${filters.showArchived ? '1' : 'archived = 0'}`,
      parameters: {
        workspace: numberOf('workspace', workspaceId),
        ids: ids.map((id) => BigInt(numberOf('link', id))),
      },
      settings,
    });
    const passing = new Set(rows.map(([number]) => store.table.publicId(number)));
    return ids.filter((id) => passing.has(id));
  }

  /** The newest links, without those given. */
  async function newestWithout(
    workspaceId: string,
    { filters }: TopPage,
    ids: readonly string[],
    limit: number,
  ): Promise<string[]> {
    const most = limit + ids.length;
    const conditions = [...linkConditions(filters), newestRows(2 * most + SPARE)];
    const page = { sort: BY_CREATION, order: 'desc', offset: 0, limit: most } as const;
    const newest = await lists.listIds(workspaceId, { ...page, conditions });
    const left = new Set(ids);
    return newest.filter((id) => !left.has(id));
  }

  /** The page of a list that begins with those links; undefined when the page ends after them. */
  async function pageOf(
    workspaceId: string,
    { limit, offset }: TopPage,
    ids: readonly string[],
  ): Promise<LinkRecord[] | undefined> {
    const end = offset + limit;
    return ids.length < end ? undefined : lists.read(workspaceId, ids.slice(offset, end));
  }

  /** The first page: the links themselves say whether they are listed. Few are not, and others are read in their place. */
  async function firstListed(
    workspaceId: string,
    { filters, limit }: TopPage,
    ids: readonly string[],
  ): Promise<LinkRecord[]> {
    const page: LinkRecord[] = [];
    for (let start = 0; start < ids.length && page.length < limit; ) {
      const next = ids.slice(start, start + limit - page.length + SPARE_READ);
      const records = await lists.read(workspaceId, next);
      page.push(...records.filter(({ archived }) => filters.showArchived || !archived));
      start += next.length;
    }
    return page.slice(0, limit);
  }

  async function highestFirst(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
    const { filters, sortBy, limit, offset } = page;
    const end = offset + limit;
    const ids = await highest(workspaceId, sortBy, end + SPARE);
    const isAll = ids.length < end + SPARE;
    if (offset === 0 && !isAll) {
      const first = await firstListed(workspaceId, page, ids);
      return first.length < limit ? undefined : first;
    }
    const passing = await listed(workspaceId, ids, filters);
    if (passing.length >= end || !isAll) return pageOf(workspaceId, page, passing);
    const newest = await newestWithout(workspaceId, page, ids, end - passing.length);
    return pageOf(workspaceId, page, [...passing, ...newest]);
  }

  async function withoutFirst(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
    const { filters, sortBy, limit, offset } = page;
    const most = Math.min(LOOKED_AT_FOR_EACH * (offset + limit) + SPARE, END_MAX);
    const first = { sort: BY_CREATION, order: 'asc', offset: 0, limit: most } as const;
    const oldest = await lists.listIds(workspaceId, { ...first, conditions: linkConditions(filters) });
    const clicked = await withTotal(workspaceId, sortBy, oldest);
    const without = oldest.filter((id) => !clicked.has(id));
    return pageOf(workspaceId, page, without);
  }

  return {
    /** The links of the page, or undefined when this is not the way to it. */
    async find(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
      if (page.offset + page.limit > END_MAX) return undefined;
      return page.sortOrder === 'desc' ? highestFirst(workspaceId, page) : withoutFirst(workspaceId, page);
    },
  };
}
