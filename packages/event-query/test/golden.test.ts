import { eventsQuerySchema } from '@waymark/contract';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BindScope, formatCursor, type PlannerStats } from '../src/index.js';
import { readable } from './readable.js';
import { pageOf } from './run.js';
import { SMALL_WORLD } from './small-world.js';
import {
  customerId,
  eventsOf,
  folderId,
  groupId,
  linkId,
  NOW,
  numberIn,
  partnerId,
  partnerTagId,
  programId,
  store,
  tagId,
  workspaceId,
} from './world.js';

// The statements of every case are kept in golden/. `npx vitest run packages/event-query -u` rewrites them; review the diff.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await store(database, SMALL_WORLD);
  // Another workspace with the same links and events: none of it may ever be seen.
  await store(database, { ...SMALL_WORLD, workspace: SMALL_WORLD.workspace + 1 });
});
afterAll(() => database.drop());

const SCOPE: BindScope = { workspaceId: workspaceId(SMALL_WORLD.workspace), programId: programId(1) };

interface Case {
  readonly query: Record<string, string>;
  readonly scope?: Partial<BindScope>;
  readonly facts?: PlannerStats & { readonly events?: number; readonly isFar?: boolean };
  /** Number of the event that the page follows by cursor. */
  readonly after?: number;
  /** Numbers of the events, in order. */
  readonly events: readonly number[];
}

const ALL_CLICKS = [9, 1, 2, 3, 4, 5, 6, 8];

const CASES: Record<string, Case> = {
  defaults: { query: {}, events: [9, 1, 2, 3, 4, 5, 6] },
  'no removed links': { query: {}, facts: { hasRemovedLinks: false }, events: [9, 1, 2, 3, 4, 5, 6, 7] },
  'all of time': { query: { interval: 'all' }, events: ALL_CLICKS },
  ascending: { query: { interval: 'all', sortOrder: 'asc', order: 'desc' }, events: [...ALL_CLICKS].reverse() },
  'third page of two': { query: { page: '3', limit: '2' }, events: [4, 5] },
  'exact times': { query: { start: '2026-11-21T14:26:00.250Z', end: '2026-11-21T14:28:00.250Z' }, events: [2, 3, 4] },
  'a day in a zone': {
    query: { start: '2026-11-20', end: '2026-11-20', timezone: 'Asia/Kolkata' },
    events: [8],
  },
  'before all events': { query: { start: '1969-01-01', end: '1969-12-31' }, events: [] },
  'far future': { query: { start: '2026-11-21T14:28:00.250Z', end: '9999-12-31' }, events: [9, 1, 2] },
  'country in and out': { query: { country: 'us,fr,-de' }, events: [9, 1, 2, 3, 6] },
  'country out': { query: { country: '-US,FR' }, events: [4, 5] },
  'region, qualified and bare': { query: { region: 'US-CA,IDF' }, events: [9, 1, 2, 6] },
  'region out': { query: { region: '-US-CA,US-NY' }, events: [9, 1, 4, 5, 6] },
  'bare region': { query: { region: 'CA' }, events: [2, 4] },
  'device, browser and os in any case': {
    query: { device: 'DESKTOP,mobile', browser: 'chrome', os: 'mac os,IOS' },
    events: [9, 1, 2, 3, 5, 6],
  },
  place: { query: { city: 'Paris,Lyon', continent: 'EU' }, events: [9, 1, 6] },
  trigger: { query: { trigger: 'qr,pageview,deeplink' }, events: [2, 5] },
  'deprecated qr': { query: { qr: 'false' }, events: [9, 1, 3, 4, 6] },
  'referer and url': {
    query: { referer: 't.co', refererUrl: 'https://t.co/abc', url: 'https://acme.com/p' },
    events: [6],
  },
  utm: {
    query: { utm_source: 'news letter', utm_medium: 'e-mail', utm_campaign: 'x', utm_term: 'a', utm_content: 'b' },
    events: [6],
  },
  'utm out': { query: { utm_source: '-news letter' }, events: [9, 1, 2, 3, 4, 5] },
  'links listed': { query: { linkId: `${linkId(1)},${linkId(2)},link_none` }, events: [9, 1, 2, 6] },
  'busy links listed': {
    query: { linkId: `${linkId(1)},${linkId(2)}` },
    facts: { linkEvents: 200_001 },
    events: [9, 1, 2, 6],
  },
  'links out': { query: { linkId: `-${linkId(1)},link_none` }, events: [2, 3, 4, 5] },
  'unknown links only': { query: { linkId: 'link_none' }, events: [] },
  'a removed link': { query: { linkId: linkId(6) }, events: [] },
  'link by reference': {
    query: { externalId: 'ext_a', country: 'FR' },
    scope: { linkId: linkId(1) },
    events: [9, 1, 6],
  },
  domain: { query: { interval: 'all', domain: 'B.example' }, events: [2, 3, 8] },
  'domain out': { query: { domain: '-b.example' }, events: [9, 1, 4, 5, 6] },
  tags: { query: { tagId: `${tagId(1)},${tagId(2)}` }, events: [9, 1, 2, 6] },
  'tenant among many events': {
    query: { tenantId: 'tenant-2', domain: 'go.acme.com' },
    facts: { events: 1_000_000 },
    events: [4],
  },
  'tenant among enough events to list its links': {
    query: { tenantId: 'tenant-2', domain: 'go.acme.com' },
    facts: { events: 100_000 },
    events: [4],
  },
  'unknown tenant among many events': { query: { tenantId: 'x' }, facts: { events: 1_000_000 }, events: [] },
  'tags in and out': { query: { tagId: `${tagId(2)},-${tagId(1)}` }, events: [2] },
  'an excluded tag keeps links without tags': { query: { tagIds: `-${tagId(2)}` }, events: [3, 4, 5] },
  'unknown tag': { query: { tagId: 'tag_none' }, events: [] },
  'unknown tag out': { query: { tagId: '-tag_none' }, events: [9, 1, 2, 3, 4, 5, 6] },
  'tenant out': { query: { tenantId: '-tenant-1' }, events: [2, 3, 4, 5] },
  partner: { query: { partnerId: partnerId(2) }, events: [4] },
  folder: { query: { folderId: folderId(1) }, events: [9, 1, 6] },
  'an excluded folder keeps links without folder': { query: { folderId: `-${folderId(1)}` }, events: [2, 3, 4, 5] },
  'partner tag': { query: { partnerTagId: partnerTagId(1) }, events: [9, 1, 6] },
  'partner tags in and out': { query: { partnerTagId: `${partnerTagId(2)},-${partnerTagId(1)}` }, events: [4] },
  'an excluded partner tag keeps links without partner': {
    query: { partnerTagId: `-${partnerTagId(1)}` },
    events: [2, 3, 4, 5],
  },
  'unknown partner tag': { query: { partnerTagId: 'ptag_none' }, events: [] },
  group: { query: { groupId: groupId(2) }, events: [4] },
  'an excluded group keeps links without partner': { query: { groupId: `-${groupId(2)}` }, events: [9, 1, 2, 3, 5, 6] },
  'a group that nobody is in': { query: { groupId: groupId(0) }, events: [] },
  'partners and folders together': {
    query: { groupId: groupId(1), partnerTagId: `-${partnerTagId(3)}`, folderId: folderId(1) },
    events: [9, 1, 6],
  },
  'no partner is no partner id': { query: { partnerId: partnerId(0) }, events: [] },
  'own program': { query: { programId: programId(1) }, events: [9, 1, 6] },
  'another program': { query: { programId: programId(2) }, events: [] },
  'root links': { query: { root: 'true' }, events: [3, 5] },
  'all but root links': { query: { root: 'false' }, events: [9, 1, 2, 4, 6] },
  'filters on links together': { query: { domain: 'b.example', root: 'false', tenantId: '-tenant-1' }, events: [2] },
  'a listed link with filters on links': {
    query: { linkId: `${linkId(1)},${linkId(2)}`, tagId: `-${tagId(1)}`, interval: 'all' },
    events: [2, 8],
  },
  'clicks of a customer': { query: { customerId: customerId(1) }, events: [1, 3] },
  'clicks of a customer by external id': {
    query: { customerId: 'ext_2' },
    scope: { customerId: customerId(2) },
    events: [2],
  },
  'unknown customer': { query: { customerId: 'ext_3' }, events: [] },
  'event names and sale types do not filter clicks': {
    query: { eventName: 'Sign up', saleType: 'new', country: 'DE' },
    events: [4],
  },
  leads: { query: { event: 'leads' }, events: [21, 22, 23] },
  'leads by name': { query: { event: 'leads', eventName: 'Demo booked', country: 'US' }, events: [22, 23] },
  'leads of a customer': { query: { event: 'leads', customerId: customerId(1), saleType: 'new' }, events: [21, 23] },
  'metadata of leads': { query: { event: 'leads', query: "metadata['plan']:pro" }, events: [21] },
  'metadata, negated': { query: { event: 'leads', query: "metadata['plan']!='pro'" }, events: [22, 23] },
  'metadata by size': { query: { event: 'leads', query: "metadata['seats'] >= 7" }, events: [21, 22] },
  'metadata that is there': { query: { event: 'leads', query: "metadata['address']:*" }, events: [21] },
  'metadata with all connectors': {
    query: {
      event: 'leads',
      query:
        "metadata['plan']:free OR metadata['address']['city']:Paris AND NOT (metadata['seats']<25 OR metadata['x']:*)",
    },
    events: [21, 22],
  },
  'metadata of sales in a listed link': {
    query: { event: 'sales', linkId: linkId(1), query: "metadata['plan']:pro" },
    events: [31],
  },
  'clicks have no metadata': { query: { country: 'DE', query: "metadata['plan']:pro" }, events: [4] },
  sales: { query: { event: 'sales' }, events: [31, 32] },
  'new sales': { query: { event: 'sales', saleType: 'new' }, events: [32] },
  'sales by link': { query: { event: 'sales', domain: 'b.example' }, events: [32] },
  'from a cursor': { query: { limit: '2' }, after: 2, events: [3, 4] },
  'from a cursor, ascending': { query: { sortOrder: 'asc' }, after: 2, events: [1, 9] },
  'from a cursor among events of one millisecond': { query: {}, after: 9, events: [1, 2, 3, 4, 5, 6] },
  'from a cursor in one link': { query: { linkId: linkId(1) }, after: 9, events: [1, 6] },
  'from a cursor, leads in a range': {
    query: { event: 'leads', start: '2026-11-21T14:28:00.250Z' },
    after: 21,
    events: [22],
  },
  'after the last event': { query: { interval: 'all' }, after: 8, events: [] },
  'a far page of everything': {
    query: { page: '2', limit: '3' },
    facts: { isFar: true, hasRemovedLinks: false },
    events: [3, 4, 5],
  },
  'a far page of everything, ascending': {
    query: { page: '2', limit: '3', sortOrder: 'asc', interval: 'all' },
    facts: { isFar: true, hasRemovedLinks: false },
    events: [5, 4, 3],
  },
  'a far page within the first quarter of an hour': {
    query: { page: '2', limit: '3', start: '2026-11-21T14:20:00Z', end: '2026-11-21T14:28:59Z' },
    facts: { isFar: true, hasRemovedLinks: false },
    events: [5, 6, 7],
  },
  'a far page beyond everything': {
    query: { page: '4', limit: '3', interval: 'all' },
    facts: { isFar: true, hasRemovedLinks: false },
    events: [],
  },
  'a far page without events of removed links': {
    query: { page: '2', limit: '3' },
    facts: { isFar: true, hasRemovedLinks: true },
    events: [3, 4, 5],
  },
  'a far page of everything but a few removed links': {
    query: { page: '2', limit: '3' },
    facts: { isFar: true, hasRemovedLinks: true, removedLinks: [6n] },
    events: [3, 4, 5],
  },
  'a far page of a filtered list': {
    query: { country: 'FR', page: '2', limit: '2' },
    facts: { isFar: true },
    events: [6],
  },
  'a far page beyond a filtered list': {
    query: { country: 'FR', page: '3', limit: '2' },
    facts: { isFar: true },
    events: [],
  },
  'a page that may lie beyond the end': { query: { page: '101' }, events: [] },
  'the last page there can be': { query: { page: '9007199254740991', limit: '1000' }, events: [] },
};

function cursorAfter({ query, after }: Case): { readonly cursor?: string } {
  const parsed = eventsQuerySchema.parse(query);
  const event = eventsOf(SMALL_WORLD, parsed.event ?? 'clicks').find(({ id }) => numberIn(id) === after);
  if (event === undefined) return {};
  const position = { timeMs: event.timeMs, id: event.id };
  return { cursor: formatCursor({ nowMs: NOW, after: position }, { query: parsed, workspaceId: SCOPE.workspaceId }) };
}

test.each(Object.entries(CASES))('%s: the statement is the reviewed one and gives its events', async (name, wanted) => {
  const query = { ...wanted.query, ...cursorAfter(wanted) };
  const { ids, statements } = await pageOf(database, query, { ...SCOPE, ...wanted.scope }, wanted.facts);
  const file = `golden/${name.replace(/[^a-z0-9]+/gi, '-')}.sql`;
  const request = `-- GET /events?${new URLSearchParams(query)}`;
  await expect(
    `${[request, ...statements.map((statement) => readable(statement))].join('\n\n')}\n`,
  ).toMatchFileSnapshot(file);
  expect(ids.map(numberIn)).toEqual(wanted.events);
});
