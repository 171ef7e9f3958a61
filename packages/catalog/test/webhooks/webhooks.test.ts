import { startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, connected } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const aHook = (url: string) => ({ name: 'Hook', url, triggers: ['lead.created' as const] });

describe('the active webhooks of a workspace', () => {
  it('reflect every change that another process makes', async () => {
    const reader = await connected(stores.catalog(), stores.client);
    await waitFor(reader.isSubscribed, { what: 'the right to use copies' });
    const writer = await connected(stores.catalog(), stores.client);
    const { workspace } = await aWorkspace(writer);
    const active = async () => (await reader.webhooks.active(workspace.id)).map(({ url }) => url);
    expect(await active()).toEqual([]);

    const one = await writer.webhooks.create(workspace.id, aHook('https://one.example/'));
    expect(await active()).toEqual(['https://one.example/']);
    const two = await writer.webhooks.create(workspace.id, aHook('https://two.example/'));
    expect(await active()).toEqual(['https://one.example/', 'https://two.example/']);
    await writer.webhooks.update(workspace.id, one.id, () => ({ disabledAt: new Date().toISOString() }));
    expect(await active()).toEqual(['https://two.example/']);
    await writer.webhooks.remove(workspace.id, two.id);
    expect(await active()).toEqual([]);
  });

  it('are separated by workspace, for one workspace and for several in one read', async () => {
    const [one, two, none] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog), aWorkspace(catalog)]);
    await catalog.webhooks.create(one.workspace.id, aHook('https://same.example/'));
    await catalog.webhooks.create(two.workspace.id, aHook('https://same.example/'));
    const fresh = stores.catalog();
    const lists = await Promise.all([one, two, none].map(({ workspace }) => fresh.webhooks.active(workspace.id)));
    expect(lists.map((list) => list.map(({ workspaceId }) => workspaceId))).toEqual([
      [one.workspace.id],
      [two.workspace.id],
      [],
    ]);
  });
});

/** A webhook that is being attached to one link, and waits for the lock of that link until `release` is called. */
async function anAttachment() {
  const { workspace, host } = await aWorkspace(catalog);
  const aLink = () => catalog.links.create(workspace.id, { domain: host, url: 'https://acme.com' });
  const [first, second] = [await aLink(), await aLink()];
  const url = 'https://hook.example/';
  const fields = { name: 'Hook', url, triggers: ['link.clicked' as const], linkScope: 'links' as const };
  const { id } = await catalog.webhooks.create(workspace.id, fields);
  const lock = `waymark:lock:record/links/${first.id}`;
  await stores.client.set(lock, 'of the test');
  const attach = (linkId: string) => catalog.webhooks.changeLinks(workspace.id, id, (links) => links([linkId]));
  return {
    ...{ workspaceId: workspace.id, id, second, attach },
    attaching: attach(first.id),
    release: () => stores.client.del(lock),
    async attachedIds() {
      const found = await stores.catalog().links.getMany(workspace.id, [first.id, second.id]);
      return [...found.values()].filter(({ webhookIds }) => webhookIds.includes(id)).map((link) => link.id);
    },
  };
}

it('a webhook is attached to the links of one request, not to those of two', async () => {
  const { id, second, attach, attaching, release, attachedIds } = await anAttachment();
  const isHeld = async () => (await stores.client.exists(`waymark:lock:webhook-links/${id}`)) > 0;
  const next = attach(second.id);
  await Promise.race([next, waitFor(isHeld, { what: 'the lock of the links of the webhook' })]);
  await release();
  await Promise.all([attaching, next]);
  expect(await attachedIds()).toHaveLength(1);
});

it('no link keeps a webhook that is removed while it is attached', async () => {
  const { workspaceId, id, attaching, release, attachedIds } = await anAttachment();
  await catalog.webhooks.remove(workspaceId, id);
  await release();
  await attaching;
  expect(await attachedIds()).toEqual([]);
});
