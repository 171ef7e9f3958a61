import { LINKS_TABLE, PARTNERS_TABLE } from '@waymark/catalog';
import { eventsQuerySchema } from '@waymark/contract';
import { bind, parse } from '@waymark/event-query';
import { waitFor } from '@waymark/test-kit';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createPlannerCache, createReads } from '../../src/index.js';
import { createLinkSets } from '../../src/link-sets.js';
import { kindKey } from '../../src/planner-cache.js';
import { aWorkspace, startQuery } from '../test-query.js';

const QUERY = { sql: 'SELECT id FROM links WHERE tenant_id = {p0:String}', params: { p0: 'a' }, settings: {} };

/** Link sets whose reads find one more link each time. */
function aCache() {
  let nowMs = 0;
  let reads = 0;
  let isSubscribed = true;
  const sets = createLinkSets({ isSubscribed: () => isSubscribed, now: () => nowMs });
  const found = (count: number) => ({ allowedLinks: Array.from({ length: count }, (_, index) => BigInt(index)) });
  return {
    sets,
    found,
    subscribe: (is: boolean) => {
      isSubscribed = is;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    links: async (workspaceId = 'ws', query: typeof QUERY = QUERY, isEager = true) => {
      const read = async () => {
        reads += 1;
        return found(reads);
      };
      return (await sets.find(workspaceId, query, { read, isEager })).allowedLinks?.length;
    },
  };
}

const change = (table: string, workspaceId = 'ws') => ({
  names: [],
  records: [{ table, workspaceId, id: 'link_1', version: 2, isRemoved: false }],
  counted: [],
  isRecounted: false,
});

test('a set is read once, by workspace and filter value', async () => {
  const { links } = aCache();
  expect([await links(), await links()]).toEqual([1, 1]);
  expect(await links('other')).toBe(2);
  expect(await links('ws', { ...QUERY, params: { p0: 'b' } })).toBe(3);
  expect(await links()).toBe(1);
});

test('a set that is not eager is read at the second request', async () => {
  const { links, sets, pass } = aCache();
  const large = () => links('ws', QUERY, false);
  expect([await large(), await large(), await large()]).toEqual([undefined, 1, 1]);
  sets.onChange(change(LINKS_TABLE));
  expect([await large(), await large()]).toEqual([undefined, 2]);
  pass(10_000);
  expect([await large(), await large()]).toEqual([undefined, 3]);
});

test.each([LINKS_TABLE, PARTNERS_TABLE])(
  'a change in %s makes the next call read again, in that workspace',
  async (table) => {
    const { links, sets } = aCache();
    for (const workspaceId of ['ws', 'other']) await links(workspaceId);
    sets.onChange(change('customers'));
    expect(await links()).toBe(1);
    sets.onChange(change(table));
    expect([await links(), await links('other')]).toEqual([3, 2]);
  },
);

test('a read that began before a change is not cached', async () => {
  const { links, sets, found } = aCache();
  let answer = (_set: ReturnType<typeof found>) => {};
  const read = () => new Promise<ReturnType<typeof found>>((resolve) => (answer = resolve));
  const asked = sets.find('ws', QUERY, { read, isEager: true });
  sets.onChange(change(LINKS_TABLE));
  answer(found(7));
  expect((await asked).allowedLinks).toHaveLength(7);
  expect(await links()).toBe(1);
});

test('sets are cached for ten seconds, and cleared after a gap in the changes', async () => {
  const { links, sets, pass } = aCache();
  await links();
  sets.onGap();
  expect(await links()).toBe(2);
  pass(9_999);
  expect(await links()).toBe(2);
  pass(1);
  expect(await links()).toBe(3);
});

test('nothing is cached without a subscription to changes', async () => {
  const { links, subscribe } = aCache();
  const large = () => links('ws', QUERY, false);
  await links();
  subscribe(false);
  expect([await links(), await links(), await large()]).toEqual([2, 3, undefined]);
  subscribe(true);
  expect(await links()).toBe(1);
});

test('in a workspace with many events a tenant’s links are read again after every change, and only then', async () => {
  const query = await startQuery();
  onTestFinished(() => query.close());
  const { catalog, database } = query;
  const workspace = await aWorkspace(query);
  const planCache = createPlannerCache(Date.now, () => true);
  catalog.subscribe(planCache);
  await planCache.eventCounts.refresh(kindKey(workspace.id, 'clicks'), async () => 2_000_000);
  const { signal } = new AbortController();
  const caller = { endpoint: 'test', workspaceId: workspace.id, requestId: 'test', signal };
  const reads = createReads({ clickhouse: database.client, planCache }, caller);
  const parsed = parse(eventsQuerySchema.parse({ tenantId: 't', interval: 'all' }), Date.now(), undefined);
  const bound = bind(parsed, { workspaceId: workspace.id, programId: null });
  const links = async () => (await reads.allowedLinks(bound)).allowedLinks?.length;
  const rows = vi.spyOn(database.client, 'rows');
  onTestFinished(() => rows.mockRestore());

  await waitFor(catalog.isSubscribed, { what: 'the subscription of the catalog' });
  const [one, two] = [await workspace.aLink({ key: 'one', tenantId: 't' }), await workspace.aLink({ key: 'two' })];
  expect(await links()).toBe(1);
  rows.mockClear();
  expect(await links()).toBe(1);
  expect(rows).not.toHaveBeenCalled();
  await catalog.links.update(workspace.id, two.id, (record) => ({ ...record, tenantId: 't' }));
  expect(await links()).toBe(2);
  await catalog.links.removeMany(workspace.id, [one.id]);
  expect(await links()).toBe(1);
  planCache.onGap();
  rows.mockClear();
  expect(await links()).toBe(1);
  expect(rows).toHaveBeenCalledOnce();
});

test('in a workspace without many events a tenant’s links are a subquery of the first request, and listed for the next', async () => {
  const query = await startQuery();
  onTestFinished(() => query.close());
  const workspace = await aWorkspace(query);
  await workspace.aLink({ key: 'one', tenantId: 't' });
  const planCache = createPlannerCache(Date.now, () => true);
  const { signal } = new AbortController();
  const caller = { endpoint: 'test', workspaceId: workspace.id, requestId: 'test', signal };
  const reads = createReads({ clickhouse: query.database.client, planCache }, caller);
  const parsed = parse(eventsQuerySchema.parse({ tenantId: 't', interval: 'all' }), Date.now(), undefined);
  const bound = bind(parsed, { workspaceId: workspace.id, programId: null });
  const twice = async () => [await reads.allowedLinks(bound), await reads.allowedLinks(bound)];

  expect(await twice()).toEqual([{ kindEvents: 0 }, { kindEvents: 0 }]);
  await planCache.eventCounts.refresh(kindKey(workspace.id, 'clicks'), async () => 100_000);
  expect(await twice()).toMatchObject([{ kindEvents: 100_000 }, { allowedLinks: [expect.any(BigInt)] }]);
});
