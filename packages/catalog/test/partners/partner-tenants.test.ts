import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

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

it('a copy of an older tenantId that is stored after the copy of the latest is followed by one of the latest', async () => {
  const insert = stores.database.client.insert.bind(stores.database.client);
  let beforeLink: (() => Promise<unknown>) | undefined;
  const client: typeof stores.database.client = Object.assign(Object.create(stores.database.client), {
    async insert(params: Parameters<typeof insert>[0]) {
      if (params.table === 'links') {
        const before = beforeLink;
        beforeLink = undefined;
        await before?.();
      }
      return insert(params);
    },
  });
  const catalog = stores.catalog({ database: { client } });
  const { partners, links } = catalog;
  const { workspace, host } = await aWorkspace(catalog);
  const partner = await partners.create(workspace.id, { name: 'Bea', email: 'bea@example.com', tenantId: 'second' });
  const link = await links.create(workspace.id, {
    ...{ domain: host, url: 'https://acme.com', partnerId: partner.id, tenantId: 'second' },
  });
  const change = async (tenantId: string) => {
    await partners.update(workspace.id, partner.id, () => ({ tenantId }));
    await partners.copyTenantToLinks(workspace.id, partner.id, tenantId);
  };
  beforeLink = () => change('second');
  await change('first');
  expect((await partners.get(workspace.id, partner.id))?.tenantId).toBe('second');
  expect((await links.get(workspace.id, link.id))?.tenantId).toBe('second');
});
