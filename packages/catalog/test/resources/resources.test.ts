import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { numberOf } from '../../src/model/entity-type.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

/** The current row, as filters see it, without removed rows and older versions. */
async function row(table: string, columns: string, workspaceId: string): Promise<unknown> {
  const result = await stores.database.client.query({
    query: `SELECT ${columns} FROM ${table} FINAL WHERE workspace_id = {workspace:UInt64}`,
    query_params: { workspace: numberOf('workspace', workspaceId) },
    format: 'JSONCompactEachRow',
  });
  return (await result.json())[0];
}

const makers = {
  tags: (workspaceId: string) => catalog.tags.create(workspaceId, { name: 'Spring' }),
  folders: (workspaceId: string) => catalog.folders.create(workspaceId, { name: 'Spring' }),
  groups: (workspaceId: string) => catalog.groups.create(workspaceId, { name: 'Spring', slug: 'spring' }),
  partnerTags: (workspaceId: string) => catalog.partnerTags.create(workspaceId, { name: 'Spring' }),
  webhooks: (workspaceId: string) =>
    catalog.webhooks.create(workspaceId, { name: 'Spring', url: 'https://acme.com/hook', triggers: ['link.created'] }),
  partners: (workspaceId: string) => catalog.partners.create(workspaceId, { name: 'Spring', email: 'ada@example.com' }),
};

describe.each(Object.keys(makers) as (keyof typeof makers)[])('%s', (kind) => {
  const create = makers[kind];

  it('are read as they were created, by their own workspace only', async () => {
    const [{ workspace }, { workspace: stranger }] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
    const record = await create(workspace.id);
    expect(record).toMatchObject({ name: 'Spring', workspaceId: workspace.id });
    // A new catalog has empty caches.
    for (const reader of [catalog, stores.catalog()]) {
      expect(await reader[kind].get(workspace.id, record.id)).toEqual(record);
      expect(await reader[kind].getMany(workspace.id, [record.id])).toEqual(new Map([[record.id, record]]));
      expect(await reader[kind].get(stranger.id, record.id)).toBeUndefined();
    }
  });

  it('have names that are unique in a workspace', async () => {
    const [{ workspace }, { workspace: other }] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
    await create(workspace.id);
    await expect(create(workspace.id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(create(other.id)).resolves.toMatchObject({ name: 'Spring' });
  });
});

it('the secret of a webhook is stored encrypted', async () => {
  const { workspace } = await aWorkspace(catalog);
  const webhook = await makers.webhooks(workspace.id);
  expect(catalog.webhooks.secretOf(webhook)).toMatch(/^whsec_[0-9a-f]{32}$/);
  expect(await row('webhooks', 'data', workspace.id)).toEqual([expect.not.stringContaining('whsec_')]);
});

it('a tag without a color is blue', async () => {
  const { workspace } = await aWorkspace(catalog);
  await catalog.tags.create(workspace.id, { name: 'Plain' });
  expect(await row('tags', 'name, color', workspace.id)).toEqual(['Plain', 'blue']);
});

it('the row of a folder has its access level', async () => {
  const { workspace } = await aWorkspace(catalog);
  await catalog.folders.create(workspace.id, { name: 'Secret', accessLevel: null });
  expect(await row('folders', 'name, access_level', workspace.id)).toEqual(['Secret', '']);
});

it('the row of a partner has the ids of its group and tags', async () => {
  const { workspace } = await aWorkspace(catalog);
  const group = await catalog.groups.create(workspace.id, { name: 'Gold', slug: 'gold' });
  const tag = await catalog.partnerTags.create(workspace.id, { name: 'Podcast' });
  await catalog.partners.create(workspace.id, {
    name: 'Ada',
    tenantId: 'tenant-1',
    groupId: group.id,
    partnerTagIds: [tag.id],
  });
  expect(await row('partners', 'name, email, tenant_id, group_id, partner_tag_ids, status', workspace.id)).toEqual([
    'Ada',
    '',
    'tenant-1',
    numberOf('partnerGroup', group.id),
    [numberOf('partnerTag', tag.id)],
    'approved',
  ]);
});
