import type { LinkRecord, PartnerRecord } from '@waymark/catalog';
import {
  analyticsQuerySchema,
  parseResourceId,
  partnerAnalyticsAnswerSchema,
  partnerAnalyticsQuerySchema,
} from '@waymark/contract';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NOW, startQuery, type TestQuery } from '../test-query.js';

let query: TestQuery;
let token: string;
let partner: PartnerRecord;
let other: PartnerRecord;
let visited: LinkRecord;
let unvisited: LinkRecord;

beforeAll(async () => {
  query = await startQuery();
  const { catalog, database } = query;
  const domain = 'partners.example';
  const created = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'business', domain });
  const { id: workspaceId, defaultProgramId: programId } = created.workspace;
  token = created.apiKey.token;
  partner = await catalog.partners.create(workspaceId, { name: 'Ada', tenantId: 'ada', programId });
  other = await catalog.partners.create(workspaceId, { name: 'Bob', tenantId: 'bob', programId });
  const draft = { domain, url: 'https://acme.com', programId };
  const ownDraft = { ...draft, partnerId: partner.id };
  visited = await catalog.links.create(workspaceId, { ...ownDraft, key: 'visited' });
  unvisited = await catalog.links.create(workspaceId, { ...ownDraft, key: 'unvisited' });
  const foreign = await catalog.links.create(workspaceId, { ...draft, key: 'other' });
  const clickOf = (link: LinkRecord, timestampMs: number) =>
    aClick({
      workspaceId: parseResourceId('workspace', workspaceId) ?? '',
      linkId: parseResourceId('link', link.id) ?? '',
      timestampMs,
    });
  const hoursAgo = (hours: number) => NOW - hours * 3_600_000;
  const clicks = [clickOf(visited, hoursAgo(2)), clickOf(visited, hoursAgo(24 * 40)), clickOf(foreign, hoursAgo(3))];
  await insertClicks(database.client, clicks);
  const conversion = (plan: string) => ({ click: clicks[0]!, timestampMs: hoursAgo(1), metadata: { plan } });
  await insertLeads(database.client, [aLead(conversion('trial'))]);
  await insertSales(database.client, [aSale({ ...conversion('pro'), amount: 500 })]);
});
afterAll(() => query.close());

async function get(parameters: string) {
  const response = await query.app.inject({
    method: 'GET',
    url: `/partners/analytics?${parameters}`,
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.statusCode, body: response.json() };
}

describe('GET /partners/analytics', () => {
  it('counts all events of the partner by default, with earnings of 0', async () => {
    const { status, body } = await get(`partnerId=${partner.id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ clicks: 2, leads: 1, sales: 1, saleAmount: 500, earnings: 0 });
    expect(await get(`partnerId=${partner.id}&programId=${partner.programId}`)).toEqual({ status, body });
    expect((await get('tenantId=ada&interval=24h')).body).toMatchObject({ clicks: 1 });
    expect((await get('tenantId=ada&start=2026-10-01&end=2026-10-31')).body).toMatchObject({ clicks: 1, leads: 0 });
  });

  it('takes a start and an end in place of an interval that is sent with them', async () => {
    const range = 'start=2026-10-01&end=2026-10-31';
    const { status, body } = await get(`tenantId=ada&interval=all&${range}`);
    expect([status, body]).toMatchObject([200, { clicks: 1, leads: 0, sales: 0 }]);
  });

  it.each([
    ['trial', { leads: 1, sales: 0, saleAmount: 0 }],
    ['pro', { leads: 0, sales: 1, saleAmount: 500 }],
    ['none', { leads: 0, sales: 0, saleAmount: 0 }],
  ])('counts leads and sales with the metadata of a query: %s', async (plan, counted) => {
    const query = encodeURIComponent(`metadata['plan']:${plan}`);
    expect((await get(`tenantId=ada&query=${query}`)).body).toEqual({ clicks: 2, ...counted, earnings: 0 });
  });

  it('is about the partner of partnerId, whatever tenantId is sent with it', async () => {
    const { body } = await get(`partnerId=${other.id}&tenantId=ada`);
    expect(body).toMatchObject({ clicks: 0, leads: 0, sales: 0 });
    expect((await get(`partnerId=${partner.id}&tenantId=none`)).body).toMatchObject({ clicks: 2 });
  });

  it('documents another default range than GET /analytics', () => {
    expect(partnerAnalyticsQuerySchema.out.shape.interval.description).toContain('`all` by default');
    expect(analyticsQuerySchema.out.shape.interval.description).toContain('`24h` by default');
  });

  it('ignores an end without a start', async () => {
    const { body } = await get('tenantId=ada&end=2026-10-31');
    expect(body).toEqual({ clicks: 2, leads: 1, sales: 1, saleAmount: 500, earnings: 0 });
  });

  it('lists all links of the partner, those without events last', async () => {
    const { body } = await get(`partnerId=${partner.id}&groupBy=top_links`);
    expect(partnerAnalyticsAnswerSchema.parse(body)).toMatchObject([
      { id: visited.id, clicks: 2, saleAmount: 500, earnings: 0 },
      { id: unvisited.id, shortLink: 'https://partners.example/unvisited', clicks: 0, earnings: 0 },
    ]);
  });

  it('has a time series', async () => {
    const { body } = await get(`partnerId=${partner.id}&groupBy=timeseries&interval=7d&timezone=Europe/Paris`);
    const rows = partnerAnalyticsAnswerSchema.parse(body) as { clicks: number }[];
    expect(rows.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(1);
  });

  it.each([
    ['no partner', '', 400],
    ['an unknown partner', 'partnerId=pn_none', 404],
    ['an unknown tenant', 'tenantId=none', 404],
    ['another program', 'tenantId=ada&programId=prog_other', 404],
    ['a grouping that partners do not have', 'tenantId=ada&groupBy=countries', 422],
    ['an invalid date', 'tenantId=ada&start=nonsense', 422],
    ['a query that cannot be read', 'tenantId=ada&query=plan', 422],
    ['an invalid date for an unknown partner', 'partnerId=pn_none&start=nonsense', 422],
    ['a query that cannot be read, for an unknown tenant', 'tenantId=none&query=plan', 422],
    ['an invalid end for another program', 'tenantId=ada&programId=prog_other&end=soon', 422],
  ])('%s gives an error: %s, %i', async (_what, parameters, status) => {
    expect((await get(parameters)).status).toBe(status);
  });
});
