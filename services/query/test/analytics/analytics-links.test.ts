import { resourceIdTime } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';
import { clicked, zeros } from './analytics-world.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
});
afterAll(() => query.close());

describe('top links', () => {
  test('have the current fields of the link', async () => {
    const workspace = await aWorkspace(query);
    const plain = await workspace.aLink({ key: 'plain' });
    const rich = await workspace.aLink({
      key: 'rich',
      url: 'https://acme.com/?a=1',
      title: 'A title',
      comments: 'A comment',
    });
    const unclicked = await workspace.aLink({ key: 'unclicked' });
    await workspace.store({ clicks: [workspace.click(plain, 2), workspace.click(rich, 1), workspace.click(rich, 3)] });
    const row = (link: typeof plain) => ({
      link: link.id,
      id: link.id,
      domain: workspace.host,
      key: link.key,
      shortLink: `https://${workspace.host}/${link.key}`,
      url: link.url,
      title: link.title,
      comments: link.comments,
      folderId: null,
      partnerId: null,
      createdAt: link.createdAt,
    });
    const expected = [
      { ...row(rich), ...clicked(2) },
      { ...row(plain), ...clicked(1) },
    ];
    for (const interval of ['24h', 'all']) {
      expect((await workspace.analytics({ groupBy: 'top_links', interval })).body).toEqual(expected);
    }
    expect((await workspace.analytics({ groupBy: 'top_links', linkId: unclicked.id })).body).toEqual([]);
  });

  test('with equal numbers are sorted by id, that is by age', async () => {
    const workspace = await aWorkspace(query);
    const links = [];
    for (const key of ['c', 'b', 'a']) links.push(await workspace.aLink({ key }));
    await workspace.store({ clicks: links.map((link) => workspace.click(link, 1)) });
    const { body } = await workspace.analytics({ groupBy: 'top_links' });
    const ids = links.map(({ id }) => id).sort();
    expect((body as { id: string }[]).map(({ id }) => id)).toEqual(ids);
    expect(ids.map((id) => resourceIdTime('link', id)).every(Number.isFinite)).toBe(true);
  });

  test('exclude a removed link whose first events are inserted after the removed links were read', async () => {
    const workspace = await aWorkspace(query);
    const [kept, removed] = [await workspace.aLink({ key: 'kept' }), await workspace.aLink({ key: 'removed' })];
    await workspace.store({ clicks: [workspace.click(kept, 1)] });
    await workspace.remove(removed);
    const counted = async () => (await workspace.analytics({ event: 'clicks', interval: 'all' })).body;
    const before = await counted();
    // Nothing evicts the removed links that were read.
    await workspace.store({ clicks: [workspace.click(removed, 1), workspace.click(removed, 2)] });
    expect([before, await counted()]).toEqual([clicked(1), clicked(1)]);
  });

  test('exclude removed links, also for interval=all', async () => {
    const workspace = await aWorkspace(query);
    const [kept, removed] = [await workspace.aLink({ key: 'kept' }), await workspace.aLink({ key: 'removed' })];
    await workspace.store({ clicks: [workspace.click(kept, 1), workspace.click(removed, 1)] });
    await workspace.remove(removed);
    for (const interval of ['24h', 'all']) {
      const { body } = await workspace.analytics({ groupBy: 'top_links', interval });
      expect(body).toMatchObject([{ id: kept.id }]);
      expect(body).toHaveLength(1);
      expect((await workspace.analytics({ groupBy: 'top_domains', interval })).body).toEqual([
        { domain: workspace.host, ...clicked(1) },
      ]);
      expect((await workspace.analytics({ interval })).body).toEqual(clicked(1));
    }
  });
});

describe('groupings by the current folder, tag, partner or domain of the link', () => {
  async function aWorkspaceWithOwners() {
    const workspace = await aWorkspace(query);
    const { folders, tags, partners, groups, partnerTags } = query.catalog;
    const folder = await folders.create(workspace.id, { name: 'Campaigns', accessLevel: 'read' });
    const [red, blue] = [
      await tags.create(workspace.id, { name: 'Red', color: 'red' }),
      await tags.create(workspace.id, { name: 'Blue' }),
    ];
    const group = await groups.create(workspace.id, { name: 'Gold', slug: 'gold', color: '#ffd700' });
    const partnerTag = await partnerTags.create(workspace.id, { name: 'Vip' });
    const partner = await partners.create(workspace.id, {
      name: 'Ada',
      email: 'ada@example.com',
      country: 'FR',
      groupId: group.id,
      partnerTagIds: [partnerTag.id],
    });
    const owned = await workspace.aLink({
      key: 'owned',
      folderId: folder.id,
      tagIds: [red.id, blue.id],
      partnerId: partner.id,
    });
    // Its folder, tag and partner do not exist.
    const orphan = await workspace.aLink({
      key: 'orphan',
      folderId: 'fold_0000000000Z',
      tagIds: [blue.id, 'tag_0000000000Z'],
      partnerId: 'pn_0000000000Z',
    });
    const plain = await workspace.aLink({ key: 'plain' });
    const customer = await workspace.aCustomer({ externalId: 'ada' });
    const clicks = [workspace.click(owned, 3), workspace.click(orphan, 2), workspace.click(plain, 1)];
    await workspace.store({
      clicks,
      leads: [workspace.lead(clicks[0]!, customer, 1)],
      sales: [workspace.sale(clicks[1]!, customer, 1, { amount: 500 })],
    });
    return { workspace, folder, red, blue, group, partnerTag, partner };
  }

  test('have rows of their own shape, and no groups for missing or removed folders, tags and partners', async () => {
    const { workspace, folder, red, blue, group, partnerTag, partner } = await aWorkspaceWithOwners();
    const expected: Record<string, object[]> = {
      top_domains: [{ domain: workspace.host, ...clicked(3) }],
      top_folders: [
        { folderId: folder.id, folder: { id: folder.id, name: 'Campaigns', accessLevel: 'read' }, ...clicked(1) },
      ],
      top_link_tags: [
        { tagId: blue.id, tag: { id: blue.id, name: 'Blue', color: 'blue' }, ...clicked(2) },
        { tagId: red.id, tag: { id: red.id, name: 'Red', color: 'red' }, ...clicked(1) },
      ],
      top_partners: [
        {
          partnerId: partner.id,
          partner: {
            id: partner.id,
            name: 'Ada',
            email: 'ada@example.com',
            image: null,
            payoutsEnabledAt: null,
            country: 'FR',
          },
          ...clicked(1),
        },
      ],
      top_groups: [
        { groupId: group.id, group: { id: group.id, name: 'Gold', slug: 'gold', color: '#ffd700' }, ...clicked(1) },
      ],
      top_partner_tags: [
        { partnerTagId: partnerTag.id, partnerTag: { id: partnerTag.id, name: 'Vip' }, ...clicked(1) },
      ],
    };
    for (const [groupBy, body] of Object.entries(expected)) {
      for (const interval of ['24h', 'all']) {
        expect(await workspace.analytics({ groupBy, interval }), groupBy).toMatchObject({ status: 200, body });
      }
    }
  });

  test('composite has leads and sales, sorted by sale amount', async () => {
    const { workspace, red, blue } = await aWorkspaceWithOwners();
    const { body } = await workspace.analytics({ groupBy: 'top_link_tags', event: 'composite' });
    expect(body).toMatchObject([
      { tagId: blue.id, clicks: 2, leads: 1, sales: 1, saleAmount: 500 },
      { tagId: red.id, clicks: 1, leads: 1, sales: 0, saleAmount: 0 },
    ]);
    const { body: sales } = await workspace.analytics({ groupBy: 'top_folders', event: 'sales' });
    expect(sales).toEqual([]);
  });

  test('filters apply before grouping', async () => {
    const { workspace, red, blue, folder } = await aWorkspaceWithOwners();
    const tagged = await workspace.analytics({ groupBy: 'top_link_tags', tagId: red.id });
    expect(tagged.body).toMatchObject([
      { tagId: red.id, clicks: 1 },
      { tagId: blue.id, clicks: 1 },
    ]);
    expect((await workspace.analytics({ groupBy: 'top_domains', folderId: `-${folder.id}` })).body).toEqual([
      { domain: workspace.host, ...clicked(2) },
    ]);
    expect((await workspace.analytics({ groupBy: 'top_domains', country: 'XX' })).body).toEqual([]);
  });

  test('only the current folder, tag, partner and domain count, not earlier ones', async () => {
    const { workspace, blue } = await aWorkspaceWithOwners();
    const links = (await workspace.analytics({ groupBy: 'top_links' })).body as { id: string; key: string }[];
    const plain = links.find(({ key }) => key === 'plain')!;
    await query.catalog.links.update(workspace.id, plain.id, (record) => ({ ...record, tagIds: [blue.id] }));
    expect((await workspace.analytics({ groupBy: 'top_link_tags' })).body).toMatchObject([
      { tagId: blue.id, ...zeros, clicks: 3 },
      { clicks: 1 },
    ]);
  });
});
