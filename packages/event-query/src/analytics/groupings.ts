import { type AnalyticsEvent, CONTINENTS, type Grouping, TRIGGERS } from '@waymark/contract';
import { textIn } from '../bind/matchers.js';
import { not } from '../sql/conditions.js';
import type { CatalogTable, ColumnName, Condition } from '../sql/sql-nodes.js';

/** The numbers that are counted, by their column in the roll-ups. */
export const MEASURES = ['clicks', 'leads', 'sales', 'sale_amount'] as const;
export type Measure = (typeof MEASURES)[number];

/** What an event type measures. */
export const MEASURES_OF: Readonly<Record<AnalyticsEvent, readonly Measure[]>> = {
  clicks: ['clicks'],
  leads: ['leads'],
  sales: ['sales', 'sale_amount'],
  composite: MEASURES,
};

/** Leads from the group so far to the next: each id is that of a row of the table, whose column is the group instead. */
export interface OwnerStep {
  readonly table: CatalogTable;
  readonly column: ColumnName;
  /** The column is a list: the row counts in the group of each of its items. */
  readonly isList: boolean;
}

/** How the rows of a grouping come about. */
export interface GroupingRule {
  /** Columns of the event, in the order of the tie-break. */
  readonly columns: readonly ColumnName[];
  /** Which of their values make a group. */
  readonly isGroup: readonly Condition[];
  /** Steps from the event's link to what owns it, as both are today. */
  readonly owners: readonly OwnerStep[];
}

const NO_GROUP = ['', 'Unknown'];

/** Groups by columns of the event. A group whose value is not known is none. */
function byEvent(...columns: readonly ColumnName[]): GroupingRule {
  return { columns, isGroup: columns.map((column) => not(textIn(column)(NO_GROUP))), owners: [] };
}

/** Only values that the row's field can have. */
function oneOf(column: ColumnName, values: readonly string[]): GroupingRule {
  return { columns: [column], isGroup: [textIn(column)(values)], owners: [] };
}

function byOwner(...owners: readonly OwnerStep[]): GroupingRule {
  return { columns: ['link_id'], isGroup: [], owners };
}

function step(table: CatalogTable, column: ColumnName): OwnerStep {
  return { table, column, isList: false };
}

function listStep(table: CatalogTable, column: ColumnName): OwnerStep {
  return { table, column, isList: true };
}

const NONE: GroupingRule = { columns: [], isGroup: [], owners: [] };

/** The last step of a grouping by something that has an id leads to that id: what is gone makes no group. */
export const GROUPING_RULES: Readonly<Record<Grouping, GroupingRule>> = {
  count: NONE,
  timeseries: NONE,
  continents: oneOf('continent', CONTINENTS),
  countries: byEvent('country'),
  regions: byEvent('country', 'region'),
  // Whole countries have cities and no regions.
  cities: { ...byEvent('country', 'city'), columns: ['country', 'region', 'city'] },
  devices: byEvent('device'),
  browsers: byEvent('browser'),
  os: byEvent('os'),
  triggers: oneOf('trigger', TRIGGERS),
  referers: byEvent('referer'),
  referer_urls: byEvent('referer_url'),
  top_links: { columns: ['link_id'], isGroup: [], owners: [] },
  top_urls: byEvent('url'),
  top_base_urls: byEvent('url_base'),
  utm_sources: byEvent('utm_source'),
  utm_mediums: byEvent('utm_medium'),
  utm_campaigns: byEvent('utm_campaign'),
  utm_terms: byEvent('utm_term'),
  utm_contents: byEvent('utm_content'),
  top_domains: byOwner(step('links', 'domain')),
  top_folders: byOwner(step('links', 'folder_id'), step('folders', 'id')),
  top_link_tags: byOwner(listStep('links', 'tag_ids'), step('tags', 'id')),
  top_partners: byOwner(step('links', 'partner_id'), step('partners', 'id')),
  top_groups: byOwner(step('links', 'partner_id'), step('partners', 'group_id'), step('groups', 'id')),
  top_partner_tags: byOwner(
    step('links', 'partner_id'),
    listStep('partners', 'partner_tag_ids'),
    step('partner_tags', 'id'),
  ),
};

/** Whether the answer is put together from numbers of links. */
export function groupsByLink(grouping: Grouping): boolean {
  return GROUPING_RULES[grouping].columns.includes('link_id');
}
