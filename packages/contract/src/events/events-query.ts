import type { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import {
  DATE_CHARS_MAX,
  DATE_FORMS,
  queryBoolean,
  queryEnum,
  queryInteger,
  queryJoinedValues,
  queryText,
  queryTextUpTo,
  queryValues,
} from '../values/query-values.js';

/** Values of the parameter `event`. */
export const EVENT_KINDS = ['clicks', 'leads', 'sales'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Values of the parameter `interval` (docs/reference/events.md). */
export const INTERVALS = ['24h', '7d', '30d', '90d', '1y', 'mtd', 'qtd', 'ytd', 'all'] as const;
export type Interval = (typeof INTERVALS)[number];

/** Parameters that accept lists, and what their values are. `US,BR` includes both, `-US,BR` excludes both. */
const MULTI_VALUE_TEXTS = {
  domain: 'Domains of the links.',
  linkId: 'Links: `link_…` ids, or `ext_` and your own ids; others match nothing.',
  tenantId: 'The `tenantId` of the links.',
  tagId: 'Tags of the links: those with any of them; excluded, those with none.',
  folderId: 'Folders of the links.',
  partnerTagId: 'Tags of the links’ partners.',
  groupId: 'Groups of the links’ partners.',
  partnerId: 'Partners of the links.',
  country: 'Countries of the visitors, as two-letter codes, or `Unknown`. `UK` and `EL` stand for `GB` and `GR`.',
  city: 'Cities of the visitors.',
  region: 'Subdivisions: `US-CA`, or `CA` in any country.',
  continent: 'Continents of the visitors: `AF`, `AN`, `AS`, `EU`, `NA`, `OC`, `SA`.',
  device: 'Kinds of device, such as `Mobile`, in any case.',
  browser: 'Names of browsers, in any case.',
  os: 'Names of operating systems, in any case.',
  trigger: 'What caused the clicks: `link`, `qr`, `pageview`, `deeplink`.',
  eventName: 'Names of leads or sales; ignored for clicks.',
  referer: 'Hosts of the pages that visitors came from, in any case, with or without `www.`, or `(direct)`.',
  refererUrl: 'Pages that visitors came from, without their query.',
  url: 'Destinations of the clicks, without their query.',
  utm_source: 'Values of `utm_source` in the destination of the click.',
  utm_medium: 'Values of `utm_medium` in the destination of the click.',
  utm_campaign: 'Values of `utm_campaign` in the destination of the click.',
  utm_term: 'Values of `utm_term` in the destination of the click.',
  utm_content: 'Values of `utm_content` in the destination of the click.',
} as const;
export type MultiValueFilter = keyof typeof MULTI_VALUE_TEXTS;
/** Names of the parameters that accept lists. */
export const MULTI_VALUE_FILTERS = Object.keys(MULTI_VALUE_TEXTS) as readonly MultiValueFilter[];

const multiValueShape = Object.fromEntries(
  Object.entries(MULTI_VALUE_TEXTS).map(([name, text]) => [
    name,
    queryValues.describe(`${text} Separated by commas; a leading \`-\` excludes them.`),
  ]),
) as Record<MultiValueFilter, typeof queryValues>;

/** The parameter `interval` of a request. @param byDefault the range of a request with neither `interval` nor `start` */
export function intervalParameter(byDefault: Interval) {
  return queryEnum(INTERVALS).describe(
    `The range when no \`start\` is given, \`${byDefault}\` by default: the last 24 hours, a number of days or a year up to the end of today, the month, quarter or year to date, or all of time.`,
  );
}

/** Parameters of a range of time. */
const rangeShape = {
  interval: intervalParameter('24h'),
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
  key: queryText.describe('Key of a link on `domain`, which must be given, too.'),
  externalId: queryText.describe('Your own id of a link, with `ext_` in front.'),
  customerId: queryText.describe(
    'A customer: a `cus_…` id, or `ext_` and your own id; any other text matches nothing.',
  ),
  root: queryBoolean.describe('`true`: only events of domains’ own links; `false`: only of all others.'),
  saleType: queryEnum(['new', 'recurring']).describe(
    '`new`: first sales of customers on a link; `recurring`: all others. Ignored for other events.',
  ),
  query: queryTextUpTo(10_000).describe(
    "Condition on the metadata of leads and sales, such as `metadata['plan']:pro`.",
  ),
  programId: queryText.describe('Deprecated: the partner program of the links.'),
  tagIds: queryJoinedValues.describe('Deprecated: `tagId`, beside which it is ignored.'),
  qr: queryBoolean.describe('Deprecated: `true` is `trigger=qr`, `false` is `trigger=link`; ignored beside `trigger`.'),
};

/** Parameters for the kind of events in a list, and for their order. */
export const eventListShape = {
  event: queryEnum(EVENT_KINDS).describe('Kind of events; `clicks` by default.'),
  sortOrder: queryEnum(['asc', 'desc']).describe('`desc`, the default, lists the newest first.'),
  sortBy: queryEnum(['timestamp']).describe('Events are sorted by time.'),
  order: queryEnum(['asc', 'desc']).describe('Deprecated: `asc` is `sortOrder=asc`; `desc` is ignored.'),
};
/** Parameters that `GET /events` and `GET /analytics` share. */
export const eventFilterShape = { ...rangeShape, ...eventAttributeShape };

/** Query string of `GET /events`. */
export const eventsQuerySchema = closedQuery({
  ...eventListShape,
  ...eventFilterShape,
  page: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 }).describe('Number of the page.'),
  cursor: queryTextUpTo(200).describe('Continues a list: from the `Link` header of its previous page.'),
  limit: queryInteger({ min: 1, max: 1000, default: 100 }).describe('Events on a page.'),
});
export type EventsQuery = z.infer<typeof eventsQuerySchema>;

/** Values of the parameter `event` of `GET /events/stream`: one kind of events, or all three. */
const STREAM_KINDS = [...EVENT_KINDS, 'all'] as const;

/** Query string of `GET /events/stream`: the filters of `GET /events`, without parameters for a range, an order or pages. */
export const eventsStreamQuerySchema = closedQuery({
  event: queryEnum(STREAM_KINDS).describe('Kind of events, or all three; `clicks` by default.'),
  ...eventAttributeShape,
});
export type EventsStreamQuery = z.infer<typeof eventsStreamQuerySchema>;
