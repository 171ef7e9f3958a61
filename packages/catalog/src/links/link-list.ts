import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, type SortOrder } from '@waymark/contract';
import { everExisted } from '../clickhouse/ever-existed.js';
import type { ReadList } from '../clickhouse/list-reads.js';
import { mayBeAmongFirst } from '../lists/first-rows.js';
import { andAll, equals, matchNothing, valuesOf } from '../lists/list-conditions.js';
import { BY_CREATION, type CursorPage, type SortRule } from '../lists/record-list.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import { IN_NO_HIDDEN_FOLDER, type LinkVisibility } from './caller-visibility.js';
import { type LinkFilters, linkConditions } from './link-filters.js';
import { createLinkTops, isTotalSort, type LinkSort, TOTAL_COLUMNS } from './links-by-total.js';

/** A page of a list of links, by number of links. */
export interface LinkPage {
  readonly filters: LinkFilters;
  readonly sortBy: LinkSort;
  readonly sortOrder: SortOrder;
  readonly limit: number;
  readonly offset: number;
}

/** The properties by which links can be counted, with the SQL expression for each. */
const GROUPS = {
  domain: 'domain',
  tagId: 'arrayJoin(tag_ids)',
  userId: 'user_id',
  folderId: 'folder_id',
} as const;
export type LinkGroup = keyof typeof GROUPS;

/** A value and the number of its links; null stands for links without a value. */
export interface LinkCount {
  readonly value: string | null;
  readonly count: number;
}

/** Most groups in an answer (docs/reference/links.md). */
const GROUPS_MAX = 10_000;

/** Dependencies of {@link createLinkList}. */
export interface LinkListDeps {
  readonly store: RecordStore<LinkRecord>;
  readonly clickhouse: ClickHouseClient;
  readonly readList: ReadList;
  readonly settings: Readonly<Record<string, number>>;
}

function byTotal(sort: keyof typeof TOTAL_COLUMNS): SortRule {
  const { total } = TOTAL_COLUMNS[sort];
  return {
    by: 'sorted_by',
    join: `LEFT JOIN (SELECT link_id, ${total} AS sorted_by FROM link_totals
WHERE workspace_id = {workspace:UInt64} GROUP BY link_id) AS totals ON totals.link_id = record.id`,
  };
}

function groupValue(group: LinkGroup, text: string): string | null {
  if (group === 'domain') return text;
  if (group === 'tagId') return formatResourceId('tag', text);
  if (group === 'folderId') return text === '0' ? null : formatResourceId('folder', text);
  return text === '' ? null : text;
}

/** Lists and counts links. Lists are read from ClickHouse, so a link is listed as soon as its creation was acknowledged. */
export function createLinkList({ store, clickhouse, readList, settings }: LinkListDeps) {
  const { lists } = store;
  const tops = createLinkTops({ store, readList, settings });

  return {
    /** A page of links. Links with equal sort values are ordered by creation, in the same direction. */
    async list(workspaceId: string, linkPage: LinkPage): Promise<LinkRecord[]> {
      const { filters, sortBy, sortOrder: order, limit, offset } = linkPage;
      const conditions = linkConditions(filters);
      const request = { conditions, order, limit, offset };
      if (!isTotalSort(sortBy)) return lists.list(workspaceId, { ...request, sort: BY_CREATION });
      // `tops` finds links by their totals, which cannot be filtered.
      if (mayBeAmongFirst(conditions) && !filters.hidesFolders) {
        const records = await tops.find(workspaceId, { ...linkPage, sortBy });
        if (records !== undefined) return records;
      }
      return lists.list(workspaceId, { ...request, sort: byTotal(sortBy) });
    },

    /** The links before or after a given one, in the order of creation. */
    listFrom: (workspaceId: string, filters: LinkFilters, page: CursorPage): Promise<LinkRecord[]> =>
      lists.listFrom(workspaceId, linkConditions(filters), page),

    /** Whether the workspace has, or ever had, a link with that id: a cursor stays valid when its link is removed. */
    everExisted: (workspaceId: string, id: string): Promise<boolean> =>
      everExisted(clickhouse, settings, 'link', workspaceId, id),

    /** The number of links that meet the filters. */
    count: (workspaceId: string, filters: LinkFilters): Promise<number> =>
      lists.count(workspaceId, linkConditions(filters)),

    /** The number of links for each value, highest first. */
    async countBy(workspaceId: string, filters: LinkFilters, group: LinkGroup): Promise<LinkCount[]> {
      const conditions = linkConditions(filters);
      if (matchNothing(conditions)) return [];
      const rows = await readList<[string, string]>({
        query: `SELECT toString(${GROUPS[group]}) AS value, count() AS links FROM links FINAL
WHERE workspace_id = {workspace:UInt64} ${andAll(conditions)}
GROUP BY value ORDER BY links DESC, value LIMIT ${GROUPS_MAX}`,
        parameters: { ...valuesOf(conditions), workspace: numberOf('workspace', workspaceId) },
        settings,
      });
      return rows.map(([value, count]) => ({ value: groupValue(group, value), count: Number(count) }));
    },

    /** The oldest link with that destination that is visible to the caller. */
    async findByUrl(
      workspaceId: string,
      url: string,
      { hidesFolders }: LinkVisibility,
    ): Promise<LinkRecord | undefined> {
      const request = { sort: BY_CREATION, order: 'asc', limit: 1, offset: 0 } as const;
      const conditions = [equals('url', url), ...(hidesFolders ? [IN_NO_HIDDEN_FOLDER] : [])];
      return (await lists.list(workspaceId, { ...request, conditions }))[0];
    },
  };
}
