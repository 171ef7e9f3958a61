import { type Partner, type PartnerLink, parseResourceId } from '@waymark/contract';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

// The orders of lists of partners, and parameters that older SDKs of dub send with requests for partners.

let management: TestManagement;
let caller: Caller;
let partners: Partner[];
let programId: string;

beforeAll(async () => {
  management = await startManagement();
  caller = await aCaller(management);
  const enrol = async (name: string) => {
    const { body } = await caller.call<Partner>('POST', '/partners', { name, email: `${name}@example.com` });
    return body;
  };
  partners = [await enrol('clicked'), await enrol('sold-often'), await enrol('sold-much')];
  programId = partners[0]?.programId ?? '';
  const clicks = partners.flatMap((partner, index) =>
    Array.from({ length: [5, 2, 1][index] ?? 0 }, (_, minute) =>
      aClick({
        workspaceId: parseResourceId('workspace', caller.workspaceId) ?? '',
        linkId: parseResourceId('link', partner.links?.[0]?.id ?? '') ?? '',
        timestampMs: Date.UTC(2026, 5, 1 + index, 12, minute),
      }),
    ),
  );
  await insertClicks(management.database.client, clicks);
  const sales = [
    { click: clicks[5]!, amount: 100 },
    { click: clicks[6]!, amount: 100 },
    { click: clicks[7]!, amount: 900 },
  ];
  await insertSales(management.database.client, sales.map(aSale));
});
afterAll(() => management.close());

const list = (query: string) => caller.call<Partner[]>('GET', `/partners?${query}`);

describe('GET /partners', () => {
  it.each([
    ['clicks', 'totalClicks', ['clicked', 'sold-often', 'sold-much']],
    ['leads', 'totalLeads', ['sold-much', 'sold-often', 'clicked']],
    ['conversions', 'totalConversions', ['sold-often', 'sold-much', 'clicked']],
    ['sales', 'totalSales', ['sold-often', 'sold-much', 'clicked']],
    ['saleAmount', 'totalSaleAmount', ['sold-much', 'sold-often', 'clicked']],
    ['commissions', 'totalCommissions', ['sold-much', 'sold-often', 'clicked']],
  ])('sortBy=%s is the same as %s', async (older, current, names) => {
    const { status, body } = await list(`sortBy=${current}`);
    expect([status, body.map(({ name }) => name)]).toEqual([200, names]);
    expect(await list(`sortBy=${older}`)).toEqual({ status, body });
  });

  it('includeExpandedFields changes nothing', async () => {
    const { status, body } = await list('search=sold');
    expect([status, body.length]).toEqual([200, 2]);
    for (const value of [true, false]) {
      expect(await list(`search=sold&includeExpandedFields=${value}`)).toEqual({ status, body });
    }
  });
});

describe('the order of GET /partners', () => {
  /** In the order of enrolment. Most totals and rates order them differently. */
  const PARTNERS = [
    { name: 'a', clicks: 3, leads: 5, conversions: 1, sales: 1, saleAmount: 1200 },
    { name: 'b', clicks: 9, leads: 1, conversions: 2, sales: 6, saleAmount: 800 },
    { name: 'c', clicks: 2, leads: 4, conversions: 3, sales: 3, saleAmount: 300 },
    { name: 'd', clicks: 4, leads: 3, conversions: 0, sales: 2, saleAmount: 500 },
  ];
  let seller: Caller;

  beforeAll(async () => {
    seller = await aCaller(management);
    const workspaceId = parseResourceId('workspace', seller.workspaceId) ?? '';
    const times = <Row>(count: number, row: (index: number) => Row) =>
      Array.from({ length: count }, (_, at) => row(at));
    for (const { name, clicks, leads, conversions, sales, saleAmount } of PARTNERS) {
      const body = { name, email: `${name}@example.com` };
      const { links } = (await seller.call<Partner>('POST', '/partners', body)).body;
      const linkId = parseResourceId('link', links?.[0]?.id ?? '') ?? '';
      const rows = times(clicks, () => aClick({ workspaceId, linkId }));
      const { client } = management.database;
      await insertClicks(client, rows);
      await insertLeads(
        client,
        times(leads, () => aLead({ click: rows[0] ?? [] })),
      );
      const saleOf = (at: number) =>
        ({ amount: at === 0 ? saleAmount : 0, saleType: at < conversions ? 'new' : 'recurring' }) as const;
      await insertSales(
        client,
        times(sales, (at) => aSale({ click: rows[0] ?? [], ...saleOf(at) })),
      );
    }
  });

  it.each([
    ['totalClicks', 'bdac'],
    ['totalLeads', 'acdb'],
    ['totalConversions', 'cbad'],
    ['totalSales', 'bcda'],
    ['totalSaleAmount', 'abdc'],
    ['netRevenue', 'abdc'],
    ['averageLifetimeValue', 'abcd'],
    ['clickToLeadRate', 'cadb'],
    ['clickToConversionRate', 'cabd'],
    ['leadToConversionRate', 'bcad'],
    // These are 0 for all partners, because there are no commissions: the newest comes first.
    ['totalCommissions', 'dcba'],
    ['earningsPerClick', 'dcba'],
    ['returnOnAdSpend', 'dcba'],
  ])('sortBy=%s lists the highest first', async (sortBy, expected) => {
    const ordered = async (sortOrder: string) => {
      const { body } = await seller.call<Partner[]>('GET', `/partners?sortBy=${sortBy}&sortOrder=${sortOrder}`);
      return body.map(({ name }) => name).join('');
    };
    expect(await ordered('desc')).toBe(expected);
    expect(await ordered('asc')).toBe([...expected].reverse().join(''));
  });
});

describe('GET /partners/links', () => {
  it('takes the program of the workspace, and no other', async () => {
    const links = (query: string) =>
      caller.call<PartnerLink[]>('GET', `/partners/links?partnerId=${partners[0]?.id}${query}`);
    const answer = await links('');
    expect([answer.status, answer.body.length]).toEqual([200, 1]);
    expect(await links(`&programId=${programId}`)).toEqual(answer);
    expect(await links('&programId=prog_other')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message: 'Program not found.' } },
    });
  });
});
