import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace, startStores, type TestStores } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it('a request that copies a tenantId late gives the links the one that the partner has by then', async () => {
  const catalog = stores.catalog();
  const { partners, links } = catalog;
  const { workspace, host } = await aWorkspace(catalog);
  const partner = await partners.create(workspace.id, { name: 'Ann', email: 'ann@example.com', tenantId: 'first' });
  const link = await links.create(workspace.id, { domain: host, url: 'https://acme.com', partnerId: partner.id });
  await partners.update(workspace.id, partner.id, () => ({ tenantId: 'second' }));
  await partners.copyTenantToLinks(workspace.id, partner.id, 'second');

  await partners.copyTenantToLinks(workspace.id, partner.id, 'first');

  expect((await links.get(workspace.id, link.id))?.tenantId).toBe('second');
});
