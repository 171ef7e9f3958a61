import { startStores, stoppingClient, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

/**
 * Gives a link of one partner to another one while a change of the first is copied to its links.
 *
 * @returns the link
 */
async function whileGivenAway(copy: (by: Catalog, workspaceId: string, partnerId: string) => Promise<void>) {
  const catalog = stores.catalog();
  const { workspace, host } = await aWorkspace(catalog);
  const [ann, bea] = await Promise.all(
    ['ann', 'bea'].map((name) =>
      catalog.partners.create(workspace.id, { name, email: `${name}@example.com`, tenantId: `of ${name}` }),
    ),
  );
  if (ann === undefined || bea === undefined) throw new Error('a partner was not created');
  const { id } = await catalog.links.create(workspace.id, {
    ...{ domain: host, url: 'https://acme.com', partnerId: ann.id, tenantId: 'of ann' },
  });
  const { client } = stores.database;
  const giver = stoppingClient(client, { statement: (text) => text === 'INSERT INTO links' });
  const given = { partnerId: bea.id, tenantId: 'of bea' };
  const giving = stores.catalog({ database: giver }).links.update(workspace.id, id, (link) => ({ ...link, ...given }));
  await giver.stopped;
  const copier = stoppingClient(client, {
    statement: (text) => text.startsWith('SELECT id FROM links '),
    isDone: true,
  });
  const copying = copy(stores.catalog({ database: copier }), workspace.id, ann.id);
  await copier.stopped;
  copier.go();
  giver.go();
  await Promise.all([giving, copying]);
  return stores.catalog().links.get(workspace.id, id);
}

it('a ban does not disable a link that another partner gets meanwhile', async () => {
  const link = await whileGivenAway(async ({ partners }, workspaceId, id) => {
    const bannedAt = new Date().toISOString();
    await partners.update(workspaceId, id, () => ({ status: 'banned', bannedAt, bannedReason: 'spam' }));
    await partners.applyBanToLinks(workspaceId, id);
  });
  expect(link).toMatchObject({ tenantId: 'of bea', disabledAt: null });
});

it('a link that moves to another partner while its former one gets a new tenantId has the tenantId of the new partner', async () => {
  const link = await whileGivenAway(async ({ partners }, workspaceId, id) => {
    await partners.update(workspaceId, id, () => ({ tenantId: 'new of ann' }));
    await partners.copyTenantToLinks(workspaceId, id, 'new of ann');
  });
  expect(link?.tenantId).toBe('of bea');
});

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
