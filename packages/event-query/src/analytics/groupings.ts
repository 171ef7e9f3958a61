import { type AnalyticsEvent, CONTINENTS, type Grouping, TRIGGERS } from '@waymark/contract';
import { textIn } from '../bind/matchers.js';
import { not } from '../sql/conditions.js';
import type { CatalogTableName, ColumnName, Condition } from '../sql/sql-nodes.js';

/** The numbers that analytics reports, named after their columns in the roll-ups. */
const MEASURES = ['clicks', 'leads', 'sales', 'sale_amount'] as const;
export type Measure = (typeof MEASURES)[number];

/** The measures of each event type. */
export const MEASURES_OF: Readonly<Record<AnalyticsEvent, readonly Measure[]>> = {
  clicks: ['clicks'],
  leads: ['leads'],
  sales: ['sales', 'sale_amount'],
  composite: MEASURES,
};

/** A join that replaces the group key, an id, by a column of the row with that id in `table`. */
export interface OwnerStep {
  readonly table: CatalogTableName;
  readonly column: ColumnName;
  /** Whether the column is an array; then the row counts in the group of each item. */
  readonly isList: boolean;
}

/** How a grouping is computed. */
export interface GroupingRule {
  /** Columns of the event to group by; ties are sorted by them in this order. */
  readonly columns: readonly ColumnName[];
  /** Conditions on the group key: other values are not reported. */
  readonly having: readonly Condition[];
  /** Joins from the event's link to its domain, folder, tag or partner, all in their current state. */
  readonly owners: readonly OwnerStep[];
}

/** Values that are not reported as groups. */
const NO_GROUP = ['', 'Unknown'];

/** Groups by columns of the event, without empty and unknown values. */
function byEvent(...columns: readonly ColumnName[]): GroupingRule {
  return { columns, having: columns.map((column) => not(textIn(column)(NO_GROUP))), owners: [] };
}

/** Groups by a column, only for values that the field of the response allows. */
function oneOf(column: ColumnName, values: readonly string[]): GroupingRule {
  return { columns: [column], having: [textIn(column)(values)], owners: [] };
}

/** Groups by what the event's link belongs to, found by joins that begin with the id of the link. */
function byOwner(...owners: readonly OwnerStep[]): GroupingRule {
  return { columns: ['link_id'], having: [], owners };
}

function step(table: CatalogTableName, column: ColumnName): OwnerStep {
  return { table, column, isList: false };
}

function listStep(table: CatalogTableName, column: ColumnName): OwnerStep {
  return { table, column, isList: true };
}

const NONE: GroupingRule = { columns: [], having: [], owners: [] };

/** A grouping by folders, tags, partners or groups ends with a join to `id` of that table, which drops removed ones. */
export const GROUPING_RULES: Readonly<Record<Grouping, GroupingRule>> = {
  count: NONE,
  timeseries: NONE,
  continents: oneOf('continent', CONTINENTS),
  countries: byEvent('country'),
  regions: byEvent('country', 'region'),
  // Some countries have no regions, so a city counts without one.
  cities: { ...byEvent('country', 'city'), columns: ['country', 'region', 'city'] },
  devices: byEvent('device'),
  browsers: byEvent('browser'),
  os: byEvent('os'),
  triggers: oneOf('trigger', TRIGGERS),
  referers: byEvent('referer'),
  referer_urls: byEvent('referer_url'),
  top_links: { columns: ['link_id'], having: [], owners: [] },
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

/** Whether the grouping can be computed from the totals of links. */
export function groupsByLink(grouping: Grouping): boolean {
  return GROUPING_RULES[grouping].columns.includes('link_id');
}
