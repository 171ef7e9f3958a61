import { type Partner, parseResourceId } from '@waymark/contract';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales } from '@waymark/test-kit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { aCaller, startManagement } from '../test-management.js';

it('a partner has the totals of its links and their quotients, 0 for a divisor of 0', async () => {
  const management = await startManagement();
  onTestFinished(() => management.close());
  const caller = await aCaller(management);
  const enrol = async (name: string) =>
    (await caller.call<Partner>('POST', '/partners', { email: `${name}@example.com`, name })).body;
  const [busy, idle] = [await enrol('busy'), await enrol('idle')];
  const workspaceId = parseResourceId('workspace', caller.workspaceId) ?? '';
  const linkId = parseResourceId('link', busy.links?.[0]?.id ?? '') ?? '';
  const clicks = Array.from({ length: 10 }, () => aClick({ workspaceId, linkId, timestampMs: Date.now() }));
  const { client } = management.database;
  const click = clicks[0] as (typeof clicks)[number];
  await insertClicks(client, clicks);
  await insertLeads(
    client,
    Array.from({ length: 4 }, (_each, index) => aLead({ click, customerId: String(index + 1) })),
  );
  // Two first sales, and one that is not.
  await insertSales(
    client,
    (['new', 'recurring', 'new'] as const).map((saleType) => aSale({ click, customerId: '1', amount: 500, saleType })),
  );
  const read = async ({ id }: Partner) => (await caller.get<Partner>(`/partners/${id}`)).body;
  expect(await read(busy)).toMatchObject({
    ...{ totalClicks: 10, totalLeads: 4, totalConversions: 2, totalSales: 3, totalSaleAmount: 1500, netRevenue: 1500 },
    ...{ clickToLeadRate: 0.4, clickToConversionRate: 0.2, leadToConversionRate: 0.5, averageLifetimeValue: 750 },
    ...{ totalCommissions: 0, earningsPerClick: 0, returnOnAdSpend: 0 },
  });
  expect(await read(idle)).toMatchObject({
    ...{ totalClicks: 0, totalLeads: 0, totalConversions: 0, totalSales: 0, totalSaleAmount: 0, netRevenue: 0 },
    ...{ clickToLeadRate: 0, clickToConversionRate: 0, leadToConversionRate: 0, averageLifetimeValue: 0 },
  });
});

it('the links of a page of partners and their totals are read in turn with lists', async () => {
  const management = await startManagement();
  onTestFinished(() => management.close());
  const caller = await aCaller(management);
  await caller.call<Partner>('POST', '/partners', { email: 'one@example.com', name: 'One' });
  const rows = vi.spyOn(management.database.client, 'rows');
  expect((await caller.get<Partner[]>('/partners')).body).toHaveLength(1);
  const reads = rows.mock.calls.map(([read]) => read).filter(({ query }) => query.includes('partner_id'));
  // The page, which is sorted by totals, the totals of its partners, and their links.
  expect(reads.map(({ owner }) => owner)).toEqual(Array(3).fill(caller.workspaceId));
});
