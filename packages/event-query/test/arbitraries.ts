import type { MultiValueFilter } from '@waymark/contract';
import { CONTINENTS, domainName, TRIGGERS } from '@waymark/contract';
import fc from 'fast-check';
import { metadata, metadataQueries, queryTexts } from './metadata-query/arbitraries.js';
import { type ListSpec, NO_FILTER, OWN_PROGRAM, type RangeSpec, type RequestSpec } from './request-spec.js';
import {
  folderId,
  freshWorkspace,
  groupId,
  idOf,
  linkId,
  NOW,
  partnerId,
  partnerTagId,
  tagId,
  type World,
  type WorldClick,
  type WorldConversion,
  type WorldLink,
} from './world.js';

/** Texts with a special meaning in SQL, query parameters or encodings. None has a comma or begins with a dash. */
const NASTY = [
  "' OR 1=1 --",
  '\\',
  "\\'",
  '{p0:String}',
  '/* x */',
  'a\0b',
  'tab\tline\n',
  '😀',
  'İstanbul',
  '%',
  '"',
  ' ',
  '`',
  'ß',
] as const;

const POOLS = {
  country: ['FR', 'US', 'DE', 'Unknown'],
  region: ['IDF', 'CA', 'BY', 'Unknown'],
  city: ['Paris', 'Los Angeles', ...NASTY],
  continent: ['EU', 'NA', ''],
  device: ['Desktop', 'Mobile', 'Tablet'],
  browser: ['Chrome', 'Mobile Safari', 'Unknown'],
  os: ['Mac OS', 'iOS', 'Windows'],
  // As hosts are stored: in lower case and ASCII.
  referer: ['(direct)', 't.co', ...NASTY.filter((text) => domainName(text) === text)],
  base: ['https://acme.com/', 'https://acme.com/p', "https://acme.com/'"],
  utm: ['', 'Google', 'news letter', ...NASTY],
  eventName: ['Sign up', 'Demo booked', ...NASTY],
  tenantId: ['', 'tenant-1', ...NASTY],
  domain: ['go.acme.com', 'b.example'],
} as const;

const LINKS = [1, 2, 3, 4, 5];
const TAGS = [1, 2, 3];
const DAY_MS = 24 * 3_600_000;
const ZONES = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Europe/Berlin'] as const;

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);

/** Times near the bounds of ranges: days in any zone, months, the last 24 hours. Some are equal. */
const times = fc.oneof(
  fc.constantFrom(0, 1, 60_000, DAY_MS, DAY_MS + 1, 21 * DAY_MS).map((ago) => NOW - ago),
  fc.integer({ min: NOW - 45 * DAY_MS, max: NOW + 2 * DAY_MS }),
  fc
    .tuple(fc.integer({ min: -30, max: 1 }), fc.integer({ min: -14, max: 12 }), fc.integer({ min: -1, max: 1 }))
    .map(([days, hours, ms]) => Date.UTC(2026, 10, 21) + days * DAY_MS + hours * 3_600_000 + ms),
);

const utmUrls = fc
  .tuple(
    pick(POOLS.base),
    fc.array(fc.tuple(pick(['utm_source', 'utm_medium', 'utm_term']), pick(POOLS.utm)), { maxLength: 2 }),
  )
  .map(([base, pairs]) => (pairs.length === 0 ? base : `${base}?${new URLSearchParams(pairs)}`));

const linkArbitrary = (number: number): fc.Arbitrary<WorldLink> =>
  fc.record({
    number: fc.constant(number),
    domain: pick(POOLS.domain),
    key: pick(['_root', `key${number}`]),
    tenantId: pick(POOLS.tenantId),
    tags: fc.uniqueArray(pick(TAGS), { maxLength: 3 }),
    folder: pick([0, 1, 2]),
    partner: pick([0, 1, 2]),
    program: pick([0, OWN_PROGRAM, 2]),
    isRemoved: fc.boolean().map((isRemoved) => isRemoved && number % 2 === 0),
  });

/** Not always both partners, so a link may refer to one that does not exist. */
const partners = fc.subarray([1, 2]).chain((numbers) =>
  fc.tuple(
    ...numbers.map((number) =>
      fc.record({
        number: fc.constant(number),
        group: pick([0, 1, 2]),
        tags: fc.uniqueArray(pick(TAGS), { maxLength: 2 }),
      }),
    ),
  ),
);

const clickFields = fc.record({
  timeMs: times,
  link: pick(LINKS),
  trigger: pick(TRIGGERS),
  country: pick(POOLS.country),
  region: pick(POOLS.region),
  city: pick(POOLS.city),
  continent: pick(POOLS.continent),
  device: pick(POOLS.device),
  browser: pick(POOLS.browser),
  os: pick(POOLS.os),
  referer: pick(POOLS.referer),
  refererUrl: fc.oneof(pick(POOLS.referer), utmUrls),
  url: utmUrls,
});

const conversionFields = fc.record({
  timeMs: times,
  eventName: pick(POOLS.eventName),
  customer: pick([1, 2, 3]),
  saleType: pick(['new', 'recurring'] as const),
  metadata,
  amount: fc.oneof(fc.constantFrom(0, 1, 2 ** 40), fc.integer({ min: 0, max: 5 })),
  click: fc.nat(),
});

export const worlds: fc.Arbitrary<World> = fc
  .record({
    links: fc.tuple(...LINKS.map(linkArbitrary)),
    partners,
    clicks: fc.array(clickFields, { minLength: 1, maxLength: 25 }),
    leads: fc.array(conversionFields, { maxLength: 12 }),
    sales: fc.array(conversionFields, { maxLength: 12 }),
  })
  .map(({ links, partners, clicks: clickSpecs, leads, sales }): World => {
    const clicks: WorldClick[] = clickSpecs.map((click, index) => ({ ...click, id: idOf(click.timeMs, index) }));
    const convert = (conversion: (typeof leads)[number], index: number): WorldConversion => ({
      ...conversion,
      id: idOf(conversion.timeMs, index),
      click: clicks[conversion.click % clicks.length]!,
    });
    return {
      workspace: freshWorkspace(),
      links,
      partners,
      clicks,
      leads: leads.map(convert),
      sales: sales.map(convert),
    };
  });

const swapCase = (text: string) => (text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase());
const anyCase = (values: readonly string[]) => values.flatMap((value) => [value, swapCase(value)]);
const nonEmpty = (values: readonly string[]) => values.filter((value) => value !== '');

/** Values for each filter: some that exist in the test data, some that do not. */
const FILTER_VALUES: Readonly<Record<MultiValueFilter, readonly string[]>> = {
  linkId: [...LINKS.map(linkId), linkId(99), 'link_none', "link_'", 'nope', '\0'],
  domain: anyCase([...POOLS.domain, 'none.example']),
  tenantId: [...nonEmpty(POOLS.tenantId), 'none'],
  tagId: [...TAGS.map(tagId), tagId(99), 'tag_none', tagId(0), 'nope', linkId(1)],
  folderId: [1, 2, 9, 0].map(folderId),
  partnerId: [...[1, 2, 9, 0].map(partnerId), 'nope'],
  partnerTagId: [...[...TAGS, 9, 0].map(partnerTagId), tagId(1)],
  groupId: [...[1, 2, 9, 0].map(groupId), 'nope'],
  country: anyCase([...POOLS.country, 'XX']),
  region: anyCase([...POOLS.region, 'US-CA', 'DE-CA', 'FR-IDF', 'Unknown-Unknown', 'XX-YY']),
  city: [...POOLS.city, 'paris'],
  continent: CONTINENTS,
  device: anyCase(POOLS.device),
  browser: anyCase(POOLS.browser),
  os: anyCase([...POOLS.os, 'KELVIN \u212a']),
  trigger: TRIGGERS,
  eventName: [...POOLS.eventName, 'sign up'],
  referer: POOLS.referer,
  refererUrl: [...POOLS.referer, ...POOLS.base, 'https://acme.com/none'],
  url: [...POOLS.base, 'https://acme.com/none'],
  utm_source: [...nonEmpty(POOLS.utm), 'goo'],
  utm_medium: nonEmpty(POOLS.utm),
  utm_campaign: nonEmpty(POOLS.utm),
  utm_term: nonEmpty(POOLS.utm),
  utm_content: ['none'],
};

const listOf = (values: readonly string[]): fc.Arbitrary<ListSpec> =>
  fc.record({
    include: fc.uniqueArray(pick(values), { maxLength: 3 }),
    exclude: fc.uniqueArray(pick(values), { maxLength: 2 }),
  });

const ranges: fc.Arbitrary<RangeSpec> = fc.oneof(
  fc.record({ type: fc.constant('times' as const), startMs: times, endMs: times }),
  fc.record({
    type: fc.constant('days' as const),
    start: times.map((ms) => new Date(ms).toISOString().slice(0, 10)),
    end: times.map((ms) => new Date(ms).toISOString().slice(0, 10)),
    zone: pick(ZONES),
  }),
  fc.record({
    type: fc.constant('interval' as const),
    interval: pick(['24h', 'mtd', 'ytd', 'all'] as const),
    zone: pick(ZONES),
  }),
);

const someLists = fc
  .uniqueArray(pick(Object.keys(FILTER_VALUES) as MultiValueFilter[]), { maxLength: 3 })
  .chain((names) => fc.tuple(...names.map((name) => listOf(FILTER_VALUES[name]).map((list) => [name, list] as const))))
  .map((entries) => Object.fromEntries(entries) as RequestSpec['lists']);

const metadataFilters = metadataQueries.chain((query) => queryTexts(query).map((text) => ({ query, text })));

const values = {
  root: fc.boolean(),
  saleType: pick(['new', 'recurring'] as const),
  metadata: metadataFilters,
  program: pick([OWN_PROGRAM, 2]),
  customer: pick([1, 2, 3, 4]),
};
/** A value in one of four cases. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
type Filters = Pick<RequestSpec, keyof typeof NO_FILTER>;
const anyFilters: fc.Arbitrary<Filters> = fc.record({
  lists: someLists,
  root: rarely(values.root),
  saleType: rarely(values.saleType),
  metadata: rarely(values.metadata),
  program: rarely(values.program),
  customer: rarely(values.customer),
});
/** Of requests with several filters, few have events. */
const oneFilter = pick(Object.keys(values) as (keyof typeof values)[]).chain(
  (name): fc.Arbitrary<Filters> => values[name].map((value) => ({ ...NO_FILTER, [name]: value })),
);

export const requestSpecs: fc.Arbitrary<RequestSpec> = fc
  .record({
    event: pick(['clicks', 'leads', 'sales'] as const),
    range: fc.oneof(
      { weight: 2, arbitrary: fc.constant({ type: 'interval', interval: 'all', zone: 'UTC' } as const) },
      { weight: 3, arbitrary: ranges },
    ),
    filters: fc.oneof({ weight: 3, arbitrary: anyFilters }, { weight: 1, arbitrary: oneFilter }),
    order: pick(['asc', 'desc'] as const),
    page: pick([1, 1, 1, 2, 3]),
    limit: pick([3, 10, 100]),
  })
  .map(({ filters, ...request }) => ({ ...request, ...filters }));
