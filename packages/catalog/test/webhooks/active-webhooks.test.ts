import { startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aWorkspace, connected } from '../test-catalog.js';

let stores: TestStores;

beforeAll(async () => {
  stores = await startStores();
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
    const catalog = stores.catalog();
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
