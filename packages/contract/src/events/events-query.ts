import type { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import {
  DATE_CHARS_MAX,
  DATE_FORMS,
  queryBoolean,
  queryEnum,
  queryInteger,
  queryList,
  queryText,
  queryTextUpTo,
  queryValues,
} from '../values/query-values.js';

/** Values of the parameter `event`. */
export const EVENT_KINDS = ['clicks', 'leads', 'sales'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Values of the parameter `interval` (docs/reference/dates.md). */
export const INTERVALS = ['24h', '7d', '30d', '90d', '1y', 'mtd', 'qtd', 'ytd', 'all'] as const;
export type Interval = (typeof INTERVALS)[number];

/** Parameters that accept lists: `US,BR` includes both, `-US,BR` excludes both. */
export const MULTI_VALUE_FILTERS = [
  'domain',
  'linkId',
  'tenantId',
  'tagId',
  'folderId',
  'partnerTagId',
  'groupId',
  'partnerId',
  'country',
  'city',
  'region',
  'continent',
  'device',
  'browser',
  'os',
  'trigger',
  'eventName',
  'referer',
  'refererUrl',
  'url',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
] as const;
export type MultiValueFilter = (typeof MULTI_VALUE_FILTERS)[number];

const multiValueShape = Object.fromEntries(MULTI_VALUE_FILTERS.map((name) => [name, queryValues])) as Record<
  MultiValueFilter,
  typeof queryValues
>;

/** Parameters of a range of time. */
const rangeShape = {
  interval: queryEnum(INTERVALS).describe(
    'The range when no `start` is given: the last 24 hours by default, a number of days or a year up to the end of today, the month, quarter or year to date, or all of time.',
  ),
  start: queryTextUpTo(DATE_CHARS_MAX).describe(
    `Where the range begins, in place of \`interval\`: ${DATE_FORMS}. A day or a longer period means its first moment, in \`timezone\`.`,
  ),
  end: queryTextUpTo(DATE_CHARS_MAX).describe(
    `Where the range ends, now by default; ignored without \`start\`: ${DATE_FORMS}. A day or a longer period means its last moment, in \`timezone\`.`,
  ),
  timezone: queryText.describe(
    'IANA name of the zone in which days and longer periods begin and end; UTC by default and when the name is unknown.',
  ),
};

/** Parameters that select events by their attributes. */
export const eventAttributeShape = {
  ...multiValueShape,
  key: queryText,
  externalId: queryText,
  customerId: queryText,
  root: queryBoolean,
  saleType: queryEnum(['new', 'recurring']),
  query: queryTextUpTo(10_000),
  programId: queryText,
  tagIds: queryList,
  qr: queryBoolean,
};

/** Parameters for the kind of events in a list, and for their order. */
export const eventListShape = {
  event: queryEnum(EVENT_KINDS),
  sortOrder: queryEnum(['asc', 'desc']),
  sortBy: queryEnum(['timestamp']),
  order: queryEnum(['asc', 'desc']),
};
/** Parameters that `GET /events` and `GET /analytics` share. */
export const eventFilterShape = { ...rangeShape, ...eventAttributeShape };

/** Query string of `GET /events`. */
export const eventsQuerySchema = closedQuery({
  ...eventListShape,
  ...eventFilterShape,
  page: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 }),
  cursor: queryTextUpTo(200),
  limit: queryInteger({ min: 1, max: 1000, default: 100 }),
});
export type EventsQuery = z.infer<typeof eventsQuerySchema>;

/** Values of the parameter `event` of `GET /events/stream`: one kind of events, or all three. */
export const STREAM_KINDS = [...EVENT_KINDS, 'all'] as const;

/** Query string of `GET /events/stream`: the filters of `GET /events`, without parameters for a range, an order or pages. */
export const eventsStreamQuerySchema = closedQuery({ event: queryEnum(STREAM_KINDS), ...eventAttributeShape });
export type EventsStreamQuery = z.infer<typeof eventsStreamQuerySchema>;
