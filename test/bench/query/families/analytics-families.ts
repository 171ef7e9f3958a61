import type { KnownWorkspace } from '../dataset/generate.js';
import type { Picks } from '../dataset/picks.js';
import { resourceIdOf } from '../dataset/world.js';
import { type BaselineGroups, baselineGroups } from './baseline-queries.js';
import { type Family, isoDaysAgo } from './event-families.js';

const YEAR = 365;

/** `GET /analytics` in its groupings, with and without filters. */
export function analyticsFamilies({ publicId, rank }: KnownWorkspace, picks: Picks): Family[] {
  const families: Family[] = [];
  let group = '';
  /** Adds a query for the last days or, with undefined, for all time. */
  const add = (
    name: string,
    days: number | undefined,
    query: Record<string, string>,
    selection: BaselineGroups = {},
  ) => {
    const range: Record<string, string> =
      days === undefined ? { interval: 'all' } : { start: isoDaysAgo(days), end: isoDaysAgo(0) };
    families.push({
      group,
      name,
      query: { ...range, ...query },
      baseline: baselineGroups(publicId, { ...selection, days }),
    });
  };

  group = 'counts and time series';
  add('count since ever', undefined, {});
  add('count of a year', YEAR, {});
  add('count of 30 days', 30, {});
  add('sales of a year', YEAR, { event: 'sales' }, { event: 'sales' });
  // Half a year is the longest range for which the API has daily buckets.
  add('daily, half a year', 180, { groupBy: 'timeseries' }, { by: 'toDate(timestamp)' });
  add('monthly, a year', YEAR, { groupBy: 'timeseries' }, { by: 'toStartOfMonth(timestamp)' });
  add('monthly, since ever', undefined, { groupBy: 'timeseries' }, { by: 'toStartOfMonth(timestamp)' });
  add(
    'daily in India, 90 days',
    90,
    { groupBy: 'timeseries', timezone: 'Asia/Kolkata' },
    {
      by: "toDate(timestamp, 'Asia/Kolkata')",
    },
  );
  add('hourly, two days', 1, { groupBy: 'timeseries' }, { by: 'toStartOfHour(timestamp)' });
  add(
    'monthly of a country',
    YEAR,
    { groupBy: 'timeseries', country: 'DE' },
    {
      by: 'toStartOfMonth(timestamp)',
      where: ["country = 'DE'"],
    },
  );
  add('count of a link', undefined, { linkId: picks.topLink }, { where: [`link_id = '${picks.topLink}'`] });

  group = 'by the event';
  for (const [grouping, by] of [
    ['continents', 'continent'],
    ['countries', 'country'],
    ['regions', 'country, region'],
    ['cities', 'country, region, city'],
    ['devices', 'device'],
    ['browsers', 'browser'],
    ['os', 'os'],
    ['triggers', 'trigger'],
    ['referers', 'referer'],
    ['referer_urls', 'cutQueryString(referer_url) AS value'],
    ['top_base_urls', 'cutQueryString(url) AS value'],
    ['utm_sources', "decodeURLFormComponent(extractURLParameter(url, 'utm_source')) AS value"],
    ['utm_campaigns', "decodeURLFormComponent(extractURLParameter(url, 'utm_campaign')) AS value"],
  ] as const) {
    add(grouping, YEAR, { groupBy: grouping }, { by });
  }
  add('countries of 30 days', 30, { groupBy: 'countries' }, { by: 'country' });
  add(
    'cities of a country',
    YEAR,
    { groupBy: 'cities', country: 'US' },
    {
      by: 'country, region, city',
      where: ["country = 'US'"],
    },
  );
  add(
    'countries by a UTM source',
    YEAR,
    { groupBy: 'countries', utm_source: 'google' },
    {
      by: 'country',
      where: ["url LIKE '%utm_source=google%'"],
    },
  );
  add(
    'devices of a link',
    YEAR,
    { groupBy: 'devices', linkId: picks.topLink },
    {
      by: 'device',
      where: [`link_id = '${picks.topLink}'`],
    },
  );

  group = 'by the link';
  add('top_links', YEAR, { groupBy: 'top_links' }, { byLink: { column: 'link_id', expression: 'link_id' } });
  add('top_domains', YEAR, { groupBy: 'top_domains' }, { byLink: { column: 'domain', expression: 'domain' } });
  add(
    'top_link_tags',
    YEAR,
    { groupBy: 'top_link_tags' },
    {
      byLink: { column: 'tag_ids', expression: 'arrayJoin(tag_ids)' },
    },
  );
  add('top_folders', YEAR, { groupBy: 'top_folders' }, { byLink: { column: 'folder_id', expression: 'folder_id' } });
  add(
    'top_partners',
    YEAR,
    { groupBy: 'top_partners' },
    { byLink: { column: 'partner_id', expression: 'partner_id' } },
  );
  add('top_groups', YEAR, { groupBy: 'top_groups' }, { byLink: { column: 'group_id', expression: 'group_id' } });
  add(
    'countries of a tag',
    YEAR,
    { groupBy: 'countries', tagId: resourceIdOf('tag', rank, 40) },
    {
      by: 'country',
      link: [`has(tag_ids, '${resourceIdOf('tag', rank, 40)}')`],
    },
  );
  add(
    'leads by link',
    YEAR,
    { event: 'leads', groupBy: 'top_links' },
    {
      event: 'leads',
      byLink: { column: 'link_id', expression: 'link_id' },
    },
  );
  return families;
}
