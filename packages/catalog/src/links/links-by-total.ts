import type { SortOrder } from '@waymark/contract';
import type { ReadList } from '../clickhouse/list-reads.js';
import { BY_CREATION } from '../lists/record-list.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import { type LinkFilters, linkConditions } from './link-filters.js';

/** The totals by which links can be sorted: the column of `link_totals`, and the aggregate over the rows of a link. */
export const TOTAL_COLUMNS = {
  clicks: { column: 'clicks', total: 'sum(clicks)' },
  saleAmount: { column: 'sale_amount', total: 'sum(sale_amount)' },
  lastClicked: { column: 'last_clicked', total: 'max(last_clicked)' },
} as const;
type TotalSort = keyof typeof TOTAL_COLUMNS;

/** The orders of lists of links. */
export type LinkSort = 'createdAt' | TotalSort;

/** Whether links are sorted by a total of their events. */
export function isTotalSort(sort: LinkSort): sort is TotalSort {
  return sort in TOTAL_COLUMNS;
}

/** A page of links sorted by a total. */
export interface TopPage {
  readonly filters: LinkFilters;
  readonly sortBy: TotalSort;
  readonly sortOrder: SortOrder;
  readonly limit: number;
  readonly offset: number;
}

/** Pages that end beyond this position are not read here, but by a join of all links with all totals. */
const END_MAX = 5_000;
/** Ids that are read in addition to the page, because some of the links may be archived or removed. */
const SPARE = 50;
/** How many of the oldest links are examined for each link without a total that is needed, because most links may have one. */
const EXAMINED_PER_LINK = 10;
/** Records that are read in addition to the page, because some may not be listed, and one larger read is faster than a second one. */
const SPARE_RECORDS = 20;

/**
 * Reads the first pages of all links of a workspace, sorted by a total, without a join of all links with all totals: it reads the highest
 * totals, and then only the links of these totals. Links without events have the total 0.
 */
export function createLinkTops(deps: {
  readonly store: RecordStore<LinkRecord>;
  readonly readList: ReadList;
  readonly settings: Readonly<Record<string, number>>;
}) {
  const { store, readList, settings } = deps;
  const { lists } = store;

  /** Ids of the links with the highest totals above 0. Some of the links may be archived or removed. */
  async function highest(workspaceId: string, sort: TotalSort, limit: number): Promise<string[]> {
    const { column } = TOTAL_COLUMNS[sort];
    const rows = await readList<[string]>({
      query: `SELECT link_id FROM link_totals FINAL WHERE workspace_id = {workspace:UInt64} AND toInt64(${column}) > 0
ORDER BY ${column} DESC, link_id DESC LIMIT {limit:UInt32}`,
      parameters: { workspace: numberOf('workspace', workspaceId), limit },
      settings,
    });
    return rows.map(([number]) => store.table.publicId(number));
  }

  /** Those of `ids` whose total is above 0. */
  async function withTotal(workspaceId: string, sort: TotalSort, ids: readonly string[]): Promise<Set<string>> {
    const rows = await readList<[string]>({
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

  /** Those of `ids` that the list contains, in the same order: not removed, and not archived unless archived links are requested. */
  async function listed(workspaceId: string, ids: readonly string[], filters: LinkFilters): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const rows = await readList<[string]>({
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

  /** Ids of the newest links of the list, without `ids`. */
  async function newestWithout(
    workspaceId: string,
    { filters }: TopPage,
    ids: readonly string[],
    limit: number,
  ): Promise<string[]> {
    const readMax = limit + ids.length;
    const conditions = linkConditions(filters);
    const page = { sort: BY_CREATION, order: 'desc', offset: 0, limit: readMax } as const;
    const newest = await lists.listIds(workspaceId, { ...page, conditions });
    const excluded = new Set(ids);
    return newest.filter((id) => !excluded.has(id));
  }

  /** The page of a list whose first links are `ids`; undefined when the page ends beyond them, or links of it were just removed. */
  async function pageOf(
    workspaceId: string,
    { limit, offset }: TopPage,
    ids: readonly string[],
  ): Promise<LinkRecord[] | undefined> {
    const end = offset + limit;
    if (ids.length < end) return undefined;
    const page = await lists.read(workspaceId, ids.slice(offset, end));
    return page.length < limit ? undefined : page;
  }

  /** The first page. Reads the records at once and skips those that are not listed, because they are few. */
  async function firstListed(
    workspaceId: string,
    { filters, limit }: TopPage,
    ids: readonly string[],
  ): Promise<LinkRecord[]> {
    const page: LinkRecord[] = [];
    for (let start = 0; start < ids.length && page.length < limit; ) {
      const next = ids.slice(start, start + limit - page.length + SPARE_RECORDS);
      const records = await lists.read(workspaceId, next);
      page.push(...records.filter(({ archived }) => filters.showArchived || !archived));
      start += next.length;
    }
    return page.slice(0, limit);
  }

  /** For descending order; links without a total follow those with one, newest first. */
  async function highestFirst(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
    const { filters, sortBy, limit, offset } = page;
    const end = offset + limit;
    const ids = await highest(workspaceId, sortBy, end + SPARE);
    const hasAllTotals = ids.length < end + SPARE;
    if (offset === 0 && !hasAllTotals) {
      const first = await firstListed(workspaceId, page, ids);
      return first.length < limit ? undefined : first;
    }
    const passing = await listed(workspaceId, ids, filters);
    if (passing.length >= end || !hasAllTotals) return pageOf(workspaceId, page, passing);
    const newest = await newestWithout(workspaceId, page, ids, end - passing.length);
    return pageOf(workspaceId, page, [...passing, ...newest]);
  }

  /** For ascending order: links without a total come first. Undefined when they do not fill the page. */
  async function withoutFirst(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
    const { filters, sortBy, limit, offset } = page;
    const readMax = Math.min(EXAMINED_PER_LINK * (offset + limit) + SPARE, END_MAX);
    const first = { sort: BY_CREATION, order: 'asc', offset: 0, limit: readMax } as const;
    const oldest = await lists.listIds(workspaceId, { ...first, conditions: linkConditions(filters) });
    const clicked = await withTotal(workspaceId, sortBy, oldest);
    const without = oldest.filter((id) => !clicked.has(id));
    return pageOf(workspaceId, page, without);
  }

  return {
    /** The links of the page; undefined when the page must be read by a join. */
    async find(workspaceId: string, page: TopPage): Promise<LinkRecord[] | undefined> {
      if (page.offset + page.limit > END_MAX) return undefined;
      return page.sortOrder === 'desc' ? highestFirst(workspaceId, page) : withoutFirst(workspaceId, page);
    },
  };
}
