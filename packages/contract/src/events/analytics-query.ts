import type { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { queryEnum } from '../values/query-values.js';
import { EVENT_KINDS, eventFilterShape } from './events-query.js';

/** The events that `GET /analytics` counts: one kind, or all three at once. */
export const ANALYTICS_EVENTS = [...EVENT_KINDS, 'composite'] as const;
export type AnalyticsEvent = (typeof ANALYTICS_EVENTS)[number];

/** The parameter `event` of `GET /analytics`. */
export const analyticsEvent = queryEnum(ANALYTICS_EVENTS).describe(
  'What is counted: `clicks`, the default, `leads`, `sales`, or all three (`composite`).',
);

/** Values of `groupBy`, apart from the alias `trigger`. */
export const GROUPINGS = [
  'count',
  'timeseries',
  'continents',
  'countries',
  'regions',
  'cities',
  'devices',
  'browsers',
  'os',
  'triggers',
  'referers',
  'referer_urls',
  'top_links',
  'top_urls',
  'top_base_urls',
  'utm_sources',
  'utm_mediums',
  'utm_campaigns',
  'utm_terms',
  'utm_contents',
  'top_domains',
  'top_folders',
  'top_link_tags',
  'top_partners',
  'top_groups',
  'top_partner_tags',
] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Query string of `GET /analytics`. */
export const analyticsQuerySchema = closedQuery({
  event: analyticsEvent,
  groupBy: queryEnum([...GROUPINGS, 'trigger']).describe(
    'One number for all (`count`, the default), or a row for each value of an attribute. `trigger` is the same as `triggers`.',
  ),
  ...eventFilterShape,
});
export type AnalyticsQuery = z.infer<typeof analyticsQuerySchema>;
