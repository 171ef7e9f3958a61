import type { AnalyticsNumbers, Grouping } from '@waymark/contract';
import type { BoundAnalytics } from './bind-analytics.js';
import { GROUPING_RULES, MEASURES_OF, type Measure } from './groupings.js';
import { startText } from './timeline.js';

/** A row of the query result: the columns of the group key, then the numbers, as text. */
export type AnalyticsRow = readonly string[];

/** A group of the result: its key, and its four numbers. */
export interface CountedGroup {
  readonly key: readonly string[];
  readonly numbers: AnalyticsNumbers;
}

const NOTHING_COUNTED: AnalyticsNumbers = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };

/** Parses the rows of the query result, in their order. Numbers that the request does not measure are 0. */
export function countedGroups(
  { event, grouping, timeline }: BoundAnalytics,
  rows: readonly AnalyticsRow[],
): CountedGroup[] {
  const keyCount = timeline === undefined ? GROUPING_RULES[grouping].columns.length : 1;
  const measures = MEASURES_OF[event];
  const numberOf = (measure: Measure) => {
    const index = measures.indexOf(measure);
    return index === -1 ? () => 0 : (row: AnalyticsRow) => Number(row[keyCount + index]);
  };
  const [clicks, leads, sales] = [numberOf('clicks'), numberOf('leads'), numberOf('sales')];
  const saleAmount = numberOf('sale_amount');
  return rows.map((row) => ({
    key: row.slice(0, keyCount),
    numbers: { clicks: clicks(row), leads: leads(row), sales: sales(row), saleAmount: saleAmount(row) },
  }));
}

/** The response body of `groupBy=count`. */
export function countOf(groups: readonly CountedGroup[]): AnalyticsNumbers {
  return groups[0]?.numbers ?? NOTHING_COUNTED;
}

/** The response rows of a time series: every bucket, with zeros for buckets without events. */
export function timeseriesOf(
  { zone, starts }: NonNullable<BoundAnalytics['timeline']>,
  groups: readonly CountedGroup[],
) {
  const counted = new Map(groups.map(({ key: [start], numbers }) => [Number(start), numbers]));
  return starts.map((start) => Object.assign({ start: startText(start, zone) }, counted.get(start) ?? NOTHING_COUNTED));
}

type Fields = Readonly<Record<string, string>>;

/** `US-CA`, or `Unknown` for a city without a region. */
function regionText(country: string, region: string): string {
  return region === '' || region === 'Unknown' ? 'Unknown' : `${country}-${region}`;
}

/** The response field of a grouping by one column. */
function field(name: string) {
  return ([value = '']: readonly string[]): Fields => ({ [name]: value });
}

/** Groupings whose response rows contain only columns of the event; the others need data of links, folders, tags or partners. */
export type EventGrouping = Exclude<
  Grouping,
  | 'count'
  | 'timeseries'
  | 'top_links'
  | 'top_folders'
  | 'top_link_tags'
  | 'top_partners'
  | 'top_groups'
  | 'top_partner_tags'
>;

/** The fields of a response row that identify the group. */
export const GROUP_FIELDS: Readonly<Record<EventGrouping, (key: readonly string[]) => Fields>> = {
  continents: field('continent'),
  countries: ([country = '']) => ({ country, region: '*', city: '*' }),
  regions: ([country = '', region = '']) => ({ country, region: regionText(country, region), city: '*' }),
  cities: ([country = '', region = '', city = '']) => ({ country, region: regionText(country, region), city }),
  devices: field('device'),
  browsers: field('browser'),
  os: field('os'),
  triggers: field('trigger'),
  referers: field('referer'),
  referer_urls: field('refererUrl'),
  top_urls: field('url'),
  top_base_urls: field('url'),
  utm_sources: field('utm_source'),
  utm_mediums: field('utm_medium'),
  utm_campaigns: field('utm_campaign'),
  utm_terms: field('utm_term'),
  utm_contents: field('utm_content'),
  top_domains: field('domain'),
};
