import type { AddressInfo } from 'node:net';
import { Dub } from 'dub';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

let query: TestQuery;
let workspace: TestWorkspace;
let dub: Dub;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = query.app.server.address() as AddressInfo;
  dub = new Dub({ token: workspace.token, serverURL: `http://127.0.0.1:${port}` });

  const plain = await workspace.aLink({ key: 'plain' });
  const rich = await workspace.aLink({
    key: 'rich',
    url: 'https://acme.com/?utm_source=x',
    externalId: 'rich',
    geo: { FR: 'https://acme.fr' },
    testVariants: [
      { url: 'https://a.com', percentage: 50 },
      { url: 'https://b.com', percentage: 50 },
    ],
    testStartedAt: '2026-11-01T00:00:00.000Z',
    password: 'sesame',
  });
  const customer = await workspace.aCustomer({ externalId: 'user_42' });
  const clicks = [
    workspace.click(plain, 5),
    workspace.click(rich, 4, { trigger: 'qr', region: 'Unknown', continent: '' }),
  ];
  await workspace.store({
    clicks,
    leads: [
      workspace.lead(clicks[0]!, customer, 3, { metadata: { a: [1, { b: null }] } }),
      workspace.lead(clicks[1]!, { id: 'cus_0000000009Z' }, 2),
    ],
    sales: [workspace.sale(clicks[1]!, customer, 1, { invoiceId: 'INV_1', paymentProcessor: 'lemonsqueezy' })],
  });
});
afterAll(() => query.close());

test('the dub SDK, unchanged, reads events of every kind', async () => {
  const clicks = await dub.events.list({});
  expect(clicks.map((item) => item.event)).toEqual(['click', 'click']);
  expect(clicks[0]).toMatchObject({ qr: 1, click: { qr: true, region: 'Unknown' }, link: { key: 'rich' } });
  const leads = await dub.events.list({ event: 'leads' });
  expect(leads).toMatchObject([
    { event: 'lead', metadata: null, customer: { name: 'Deleted Customer' } },
    { event: 'lead', metadata: { a: [1, { b: null }] }, customer: { externalId: 'user_42' } },
  ]);
  const sales = await dub.events.list({ event: 'sales' });
  expect(sales).toMatchObject([{ event: 'sale', saleAmount: 2900, sale: { invoiceId: 'INV_1' } }]);
});

test('the SDK reads events of a domain itself, and of a link with tags, a partner and a folder', async () => {
  const { catalog } = query;
  const other = await aWorkspace(query);
  const sdk = new Dub({ token: other.token, serverURL: dub._options.serverURL ?? '' });
  const colors = ['red', 'yellow', 'green', 'blue', 'purple', 'brown', 'pink'] as const;
  const tags = await Promise.all(colors.map((color) => catalog.tags.create(other.id, { name: color, color })));
  const folder = await catalog.folders.create(other.id, { name: 'Spring' });
  const partner = await catalog.partners.create(other.id, { name: 'Ada' });
  const root = await catalog.links.findByAddress(other.host, '_root');
  const full = await other.aLink({
    ...{ key: 'full', tagIds: tags.map(({ id }) => id), folderId: folder.id, partnerId: partner.id },
    programId: partner.programId,
  });
  const customer = await other.aCustomer({ externalId: 'c' });
  const clicks = [other.click(full, 5), other.click(root!, 4, { url: '' })];
  await other.store({
    clicks,
    leads: clicks.map((click) => other.lead(click, customer, 3)),
    sales: clicks.map((click) => other.sale(click, customer, 2)),
  });
  for (const event of ['clicks', 'leads', 'sales'] as const) {
    const links = (await sdk.events.list({ event })).map((item) => ('link' in item ? item.link : undefined));
    expect(links.find((link) => link?.key === '_root')).toMatchObject({ url: '', shortLink: `https://${other.host}` });
    const shown = links.find((link) => link?.key === 'full');
    expect(shown).toMatchObject({ folderId: folder.id, partnerId: partner.id });
    expect(shown?.tags?.map(({ color }) => color).sort()).toEqual([...colors].sort());
  }
});

test('parameters that the SDK always sends do not override the order and page of the caller', async () => {
  const ascending = await dub.events.list({ sortOrder: 'asc', limit: 1 });
  expect(ascending).toMatchObject([{ link: { key: 'plain' } }]);
  expect(await dub.events.list({ sortOrder: 'asc', limit: 1, page: 2 })).toMatchObject([{ link: { key: 'rich' } }]);
  expect(await dub.events.list({ sortOrder: 'asc', page: 3 })).toEqual([]);
});

test('filters of the SDK are applied', async () => {
  expect(await dub.events.list({ trigger: 'qr', interval: 'all', timezone: 'Asia/Kolkata' })).toHaveLength(1);
  expect(await dub.events.list({ externalId: 'ext_rich' })).toHaveLength(1);
  expect(await dub.events.list({ domain: workspace.host, key: 'plain' })).toHaveLength(1);
  expect(await dub.events.list({ country: '-FR' })).toEqual([]);
  expect(await dub.events.list({ event: 'sales', saleType: 'recurring' })).toEqual([]);
});
