import { insertRows } from '@waymark/clickhouse';
import { NAMES_TABLE } from '@waymark/event-format';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { nameRow, numberOf } from '../../src/model/entity-type.js';
import { linkAddress } from '../../src/model/entity-types.js';
import { withLateInsert } from '../late-insert.js';
import { aWorkspace, outcomes } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;
let other: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  other = stores.catalog();
});
afterAll(() => stores.close());

async function aLink(key: string) {
  const { workspace, host } = await aWorkspace(catalog);
  const link = await catalog.links.create(workspace.id, { domain: host, key, url: 'https://acme.com' });
  return { workspace, host, link };
}

describe('updates', () => {
  it('that are concurrent, through two instances, lose no field', async () => {
    const { workspace, link } = await aLink('many');
    const marks = Array.from({ length: 30 }, (_, index) => `mark-${index}`);
    await Promise.all(
      marks.map((mark, index) =>
        (index % 2 === 0 ? catalog : other).links.update(workspace.id, link.id, (record) => ({
          ...record,
          comments: [record.comments, mark].filter(Boolean).join(' '),
        })),
      ),
    );
    const updated = await stores.catalog().links.get(workspace.id, link.id);
    expect(updated?.comments?.split(' ').sort()).toEqual([...marks].sort());
  });

  it('of different fields that are concurrent keep both', async () => {
    const { workspace } = await aWorkspace(catalog);
    await Promise.all([
      catalog.workspaces.update(workspace.id, { plan: 'pro' }),
      other.workspaces.update(workspace.id, { allowedHostnames: ['acme.com'] }),
      catalog.workspaces.update(workspace.id, { quotas: { domains: 7 } }),
    ]);
    expect(await stores.catalog().workspaces.get(workspace.id)).toMatchObject({
      plan: 'pro',
      allowedHostnames: ['acme.com'],
      quotas: { domains: 7 },
    });
  });

  it('keep the fields that only a later release has', async () => {
    const { workspace, link } = await aLink('later-release');
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, isPinned: true }));
    await catalog.workspaces.update(workspace.id, { color: 'blue' } as object);
    await other.links.update(workspace.id, link.id, (record) => ({ ...record, comments: 'changed' }));
    await other.workspaces.update(workspace.id, { plan: 'pro' });
    expect(await stores.catalog().links.get(workspace.id, link.id)).toMatchObject({
      isPinned: true,
      comments: 'changed',
    });
    expect(await stores.catalog().workspaces.get(workspace.id)).toMatchObject({ color: 'blue', plan: 'pro' });
  });

  it('keep the fields that only a later release has in the objects of a record', async () => {
    const { workspace, link } = await aLink('later-objects');
    const partner = await catalog.partners.create(workspace.id, { name: 'Ann', email: 'ann@example.com' });
    const later = { addedLater: 'a later release' };
    const variant = { url: 'https://acme.com/a', percentage: 50, ...later };
    const rejection = { reason: null, note: null, timeframe: null, isFraud: false, fraudReason: null };
    const added = {
      link: { testVariants: [variant, variant] },
      workspace: { quotas: { domains: 7, webhooks: 5 } },
      partner: {
        applicationFormData: [{ label: 'Site', value: null, ...later }],
        rejection: { ...rejection, at: '2026-03-04T12:30:45.678Z', ...later },
      },
    };
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, ...added.link }));
    await catalog.workspaces.update(workspace.id, added.workspace);
    await catalog.partners.update(workspace.id, partner.id, () => added.partner);
    await other.links.update(workspace.id, link.id, (record) => ({ ...record, comments: 'changed' }));
    await other.workspaces.update(workspace.id, { plan: 'pro' });
    await other.partners.update(workspace.id, partner.id, () => ({ name: 'Bea' }));
    const stored = stores.catalog();
    expect(await stored.links.get(workspace.id, link.id)).toMatchObject({ ...added.link, comments: 'changed' });
    expect(await stored.workspaces.get(workspace.id)).toMatchObject({ ...added.workspace, plan: 'pro' });
    expect(await stored.partners.get(workspace.id, partner.id)).toMatchObject({ ...added.partner, name: 'Bea' });
  });

  it('have the time at which they were made, not that at which they began to wait for an earlier one', async () => {
    let clock = Date.now();
    const waiting = stores.catalog({ now: () => clock });
    const { workspace } = await aWorkspace(catalog);
    const { id } = workspace;
    const tag = await catalog.tags.create(id, { name: 'news' });
    const customer = await catalog.customers.create(id, { externalId: 'ann' });
    const erasure = await catalog.erasures.accept(id, { externalId: 'ann', customerIds: [customer.id] }, 'anonymise');
    const click = { clickId: 'c', clickedAt: null, linkId: null, programId: null, partnerId: null, country: null };
    const locks = [tag, customer, erasure, workspace].map(
      (record, index) => `waymark:lock:record/${['tags', 'customers', 'erasures', 'workspaces'][index]}/${record.id}`,
    );
    for (const lock of locks) await stores.client.set(lock, 'an earlier change');
    const changes = Promise.all([
      waiting.tags.update(id, tag.id, () => ({ name: 'press' })),
      waiting.customers.attribute(id, customer.id, click),
      waiting.erasures.updateMany(id, [erasure.id], () => ({ clicks: 1 })).then(([changed]) => changed),
      waiting.workspaces.update(id, { plan: 'pro' }),
    ]);
    clock += 5_000;
    await stores.client.del(locks);
    const time = new Date(clock).toISOString();
    expect((await changes).map((changed) => changed?.updatedAt)).toEqual([time, time, time, time]);
  });

  it('with a lost answer that ClickHouse carries out after the lock has expired do not undo a later one', async () => {
    const { workspace, link } = await aLink('late');
    const set = (url: string) => catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url }));
    const insertLate = await withLateInsert(stores, () => set('https://acme.com/first'));
    await set('https://acme.com/second');
    await insertLate();
    expect((await stores.catalog().links.get(workspace.id, link.id))?.url).toBe('https://acme.com/second');
    const rows = await stores.database.client.rows<[string]>({
      query: "SELECT url FROM links FINAL WHERE key = 'late'",
    });
    expect(rows).toEqual([['https://acme.com/second']]);
  });

  it('cannot change the id, the workspace or the creation time of a record', async () => {
    const { workspace, link } = await aLink('fixed');
    const updated = await catalog.links.update(workspace.id, link.id, (record) => ({
      ...record,
      id: 'link_00000000001',
      workspaceId: 'ws_00000000001',
      createdAt: '1970-01-01T00:00:00.000Z',
    }));
    expect(updated).toMatchObject({ id: link.id, workspaceId: workspace.id, createdAt: link.createdAt });
  });

  it('of a record that does not exist, or belongs to another workspace, are not found', async () => {
    const { link } = await aLink('foreign');
    const { workspace: stranger } = await aWorkspace(catalog);
    const change = catalog.links.update(stranger.id, link.id, (record) => ({ ...record, url: 'https://evil.com' }));
    await expect(change).rejects.toMatchObject({ code: 'not_found' });
    expect(await other.links.get(stranger.id, link.id)).toBeUndefined();
  });
});

describe('a change of name', () => {
  const rename = (on: Catalog, workspaceId: string, id: string, key: string) =>
    on.links.update(workspaceId, id, (record) => ({ ...record, key }));

  it('moves the link from its old address to the new one, and back', async () => {
    const { workspace, host, link } = await aLink('first');
    for (const [key, gone] of [
      ['second', 'first'],
      ['first', 'second'],
    ] as const) {
      await rename(catalog, workspace.id, link.id, key);
      for (const instance of [catalog, stores.catalog()]) {
        expect((await instance.links.findByAddress(host, key))?.id).toBe(link.id);
        expect(await instance.links.findByAddress(host, gone)).toBeUndefined();
      }
    }
  });

  it('frees the old address for another link', async () => {
    const { workspace, host, link } = await aLink('free');
    await rename(catalog, workspace.id, link.id, 'taken');
    const next = await other.links.create(workspace.id, { domain: host, key: 'free', url: 'https://next.com' });
    expect(await catalog.links.findByAddress(host, 'free')).toEqual(next);
  });

  it('that cannot remove the row of the old address is answered, and the log names the row', async () => {
    const { workspace, host, link } = await aLink('before');
    const { client } = stores.database;
    const insert = client.insert.bind(client);
    let names = 0;
    // The first insert of names has the new address.
    client.insert = ((params: Parameters<typeof insert>[0]) => {
      if (params.table !== NAMES_TABLE.table) return insert(params);
      names += 1;
      if (names === 1) return insert(params);
      return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
    }) as typeof client.insert;
    stores.warnings.length = 0;
    try {
      await rename(catalog, workspace.id, link.id, 'after');
    } finally {
      client.insert = insert;
    }
    expect(stores.warnings).toEqual(['rows of former names were not removed']);
    for (const instance of [catalog, stores.catalog()]) {
      expect((await instance.links.findByAddress(host, 'after'))?.id).toBe(link.id);
      expect(await instance.links.findByAddress(host, 'before')).toBeUndefined();
    }
  });

  it('to a taken address conflicts and changes nothing', async () => {
    const { workspace, host, link } = await aLink('mine');
    await other.links.create(workspace.id, { domain: host, key: 'yours', url: 'https://b.com' });
    await expect(rename(catalog, workspace.id, link.id, 'YOURS')).rejects.toMatchObject({ code: 'conflict' });
    expect((await other.links.findByAddress(host, 'mine'))?.id).toBe(link.id);
  });

  it('to the same key in another case does not conflict', async () => {
    const { workspace, host, link } = await aLink('case');
    await rename(catalog, workspace.id, link.id, 'CASE');
    expect((await other.links.findByAddress(host, 'case'))?.key).toBe('CASE');
  });

  it('of many links to one address concurrently succeeds for one', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const links = await Promise.all(
      Array.from({ length: 10 }, () => catalog.links.create(workspace.id, { domain: host, url: 'https://a.com' })),
    );
    const settled = await Promise.allSettled(
      links.map((link, index) => rename(index % 2 ? catalog : other, workspace.id, link.id, 'goal')),
    );
    expect(outcomes(settled)).toEqual({ created: 1, codes: ['conflict'] });
  });

  it('that is killed before the record is inserted leaves the old address working and the new one free', async () => {
    const { workspace, host, link } = await aLink('stays');
    const owner = { id: numberOf('link', link.id), workspaceId: numberOf('workspace', workspace.id) };
    const rows = [nameRow(linkAddress(host, 'never'), owner, 2)];
    await insertRows(stores.database.client, { ...NAMES_TABLE, rows });
    expect(await other.links.findByAddress(host, 'never')).toBeUndefined();
    expect((await other.links.findByAddress(host, 'stays'))?.id).toBe(link.id);
    await catalog.links.create(workspace.id, { domain: host, key: 'never', url: 'https://b.com' });
    expect((await other.links.findByAddress(host, 'never'))?.url).toBe('https://b.com');
  });
});

describe('revoking', () => {
  it('a key takes effect in every instance, and leaves no data in its row', async () => {
    const { workspace, apiKey } = await aWorkspace(catalog);
    expect((await other.keys.authenticate(apiKey.token))?.workspace?.id).toBe(workspace.id);
    await catalog.keys.revoke(workspace.id, apiKey.record.id);
    expect(await catalog.keys.authenticate(apiKey.token)).toBeUndefined();
    expect(await stores.catalog().keys.authenticate(apiKey.token)).toBeUndefined();
    await expect(catalog.keys.revoke(workspace.id, apiKey.record.id)).rejects.toMatchObject({ code: 'not_found' });
    const rows = await stores.database.client.query({
      query: 'SELECT argMax(data, version) FROM api_keys WHERE workspace_id = {ws:UInt64} AND id = {id:UInt64}',
      query_params: { ws: numberOf('workspace', workspace.id), id: numberOf('apiKey', apiKey.record.id) },
      format: 'JSONCompactEachRow',
    });
    expect(await rows.json()).toEqual([['']]);
  });
});
