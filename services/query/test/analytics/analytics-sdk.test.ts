import type { AddressInfo } from 'node:net';
import { analyticsRowSchemas, GROUPINGS, type Grouping } from '@waymark/contract';
import { Dub } from 'dub';
import { HTTPClient } from 'dub/lib/http';
import * as errors from 'dub/models/errors';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startQuery, type TestQuery } from '../test-query.js';
import { type AnalyticsWorld, anAnalyticsWorld, clicked } from './analytics-world.js';

let query: TestQuery;
let world: AnalyticsWorld;
let dub: Dub;

beforeAll(async () => {
  query = await startQuery();
  world = await anAnalyticsWorld(query);
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = query.app.server.address() as AddressInfo;
  dub = new Dub({ token: world.workspace.token, serverURL: `http://127.0.0.1:${port}` });
});
afterAll(() => query.close());

test('the dub SDK, unchanged, reads the count', async () => {
  expect(await dub.analytics.retrieve({})).toEqual(clicked(5));
  const all = await dub.analytics.retrieve({ event: 'composite', interval: 'all' });
  expect(all).toEqual({ clicks: 6, leads: 2, sales: 2, saleAmount: 2900 });
});

const PARSED = [
  ['timeseries', 25],
  ['continents', 3],
  ['countries', 3],
  ['regions', 3],
  ['cities', 4],
  ['devices', 2],
  ['browsers', 2],
  ['os', 2],
  ['trigger', 3],
  ['triggers', 3],
  ['referers', 2],
  ['referer_urls', 2],
  ['top_links', 1],
  ['top_urls', 2],
  ['top_base_urls', 2],
] as const;

test.each(PARSED)('the dub SDK reads %s: its result equals the response', async (groupBy, count) => {
  for (const event of ['clicks', 'composite'] as const) {
    const rows = await dub.analytics.retrieve({ groupBy, event, country: '-BR' });
    expect(rows).toHaveLength(count);
    expect(rows).toEqual(await world.rows({ groupBy, event, country: '-BR' }));
  }
});

const NUMBERS = clicked(1);

const UNPARSED: readonly [Exclude<Grouping, 'count'>, object][] = [
  ['utm_sources', { utm_source: 'news' }],
  ['utm_mediums', { utm_medium: 'mail' }],
  ['utm_campaigns', { utm_campaign: 'spring' }],
  ['utm_terms', { utm_term: 'shoes' }],
  ['utm_contents', { utm_content: 'top' }],
  ['top_domains', { domain: 'go.acme.example' }],
  ['top_folders', { folderId: 'fold_1', folder: { id: 'fold_1', name: 'Launch', accessLevel: null } }],
  ['top_link_tags', { tagId: 'tag_1', tag: { id: 'tag_1', name: 'Red', color: 'red' } }],
  ['top_partners', { partnerId: 'pn_1', partner: { id: 'pn_1', name: 'Ada' } }],
  ['top_groups', { groupId: 'grp_1', group: { id: 'grp_1', name: 'Gold', slug: 'gold' } }],
  ['top_partner_tags', { partnerTagId: 'pt_1', partnerTag: { id: 'pt_1', name: 'Vip' } }],
];

test.each(UNPARSED)('the dub SDK has no type for rows of %s: its error contains them', async (groupBy, group) => {
  const rows = [{ ...group, ...NUMBERS }];
  expect(analyticsRowSchemas[groupBy].parse(rows[0])).toEqual(rows[0]);
  const httpClient = new HTTPClient({ fetcher: async () => Response.json(rows) });
  const canned = new Dub({ token: 'dub_1', serverURL: 'http://127.0.0.1', httpClient });
  const failure = await canned.analytics.retrieve({ groupBy }).catch((err: unknown) => err);
  expect(failure).toBeInstanceOf(errors.ResponseValidationError);
  expect(failure).toMatchObject({ rawValue: rows });
});

test('the lists of groupings that the SDK parses and does not parse are complete', () => {
  expect([...PARSED.map(([grouping]) => grouping), ...UNPARSED.map(([grouping]) => grouping)].sort()).toEqual(
    ['trigger', ...GROUPINGS.filter((grouping) => grouping !== 'count')].sort(),
  );
});

test('filters of the SDK are applied', async () => {
  expect(await dub.analytics.retrieve({ country: 'US', timezone: 'Asia/Kolkata' })).toEqual(clicked(2));
  expect(await dub.analytics.retrieve({ linkId: world.link.id, trigger: 'qr' })).toEqual(clicked(1));
});

test('error responses are the typed errors of the SDK', async () => {
  await expect(dub.analytics.retrieve({ start: 'whenever' })).rejects.toBeInstanceOf(errors.UnprocessableEntity);
  await expect(dub.analytics.retrieve({ programId: 'prog_1' })).rejects.toBeInstanceOf(errors.Forbidden);
  await expect(dub.analytics.retrieve({ externalId: 'ext_none' })).rejects.toBeInstanceOf(errors.NotFound);
});
