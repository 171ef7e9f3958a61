import { createResourceId } from '@waymark/contract';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, outcomes } from '../test-catalog.js';

/** The name rows of random keys are inserted before it is checked that the keys are free. */

const { draws, ids, texts } = vi.hoisted(() => ({
  draws: [] as string[],
  ids: [] as string[],
  texts: [] as string[],
}));
vi.mock('../../src/model/tokens.js', async (original) => {
  const real = await original<typeof import('../../src/model/tokens.js')>();
  return { ...real, randomText: (length: number) => texts.shift() ?? real.randomText(length) };
});
vi.mock('../../src/links/new-link-record.js', async (original) => {
  const real = await original<typeof import('../../src/links/new-link-record.js')>();
  return {
    ...real,
    newLinkRecord: (...given: Parameters<typeof real.newLinkRecord>) => {
      const record = real.newLinkRecord(...given);
      return { ...record, id: ids.shift() ?? record.id };
    },
    randomKey: (input: Parameters<typeof real.randomKey>[0]) => draws.shift() ?? real.randomKey(input),
  };
});

let stores: TestStores;
let catalog: Catalog;
let workspaceId: string;
let host: string;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
beforeEach(async () => {
  const created = await aWorkspace(catalog);
  [workspaceId, host] = [created.workspace.id, created.host];
  draws.length = 0;
});
afterAll(() => stores.close());

const create = (key?: string) => catalog.links.create(workspaceId, { domain: host, key, url: 'https://acme.com' });

async function rowsOf(name: string): Promise<number> {
  const result = await stores.database.client.query({
    query: 'SELECT count() FROM names FINAL WHERE name = {name:String} AND scope = {host:String}',
    query_params: { name, host },
    format: 'JSONCompactEachRow',
  });
  const [[rows] = []] = await result.json<[string]>();
  return Number(rows);
}

it('a random key that is taken is replaced by another, and its owner keeps it', async () => {
  const owner = await create('taken-1');
  // The first random key is used to check the prefix only.
  draws.push('probe-1', 'Taken-1', 'fresh-1');
  expect((await create()).key).toBe('fresh-1');
  expect(draws).toEqual([]);
  expect((await stores.catalog().links.findByAddress(host, 'taken-1'))?.id).toBe(owner.id);
  expect(await rowsOf('taken-1')).toBe(2);
  expect(await catalog.links.count(workspaceId, { showArchived: true })).toBe(3);
});

it.each([
  [undefined, ['API', 'www', 'App', 'k3y'], 'k3y'],
  ['track', ['click', 'Click', 'clock'], 'track/clock'],
])('a random key is never one that no request may choose: with the prefix %s', async (prefix, drawn, key) => {
  // The first random key is used to check the prefix only.
  draws.push(`${prefix}/probe`);
  texts.push(...drawn);
  const link = { domain: host, prefix, keyLength: 5, url: 'https://acme.com' };
  expect((await catalog.links.create(workspaceId, link)).key).toBe(key);
});

it('concurrent creations with the same random keys get different keys', async () => {
  const owner = await create('taken-2');
  draws.push('probe', 'taken-2', 'probe', 'same-22', 'probe', 'same-22');
  const settled = await Promise.allSettled([create(), create(), create()]);
  expect(outcomes(settled)).toEqual({ created: 3, codes: [] });
  const keys = settled.map((one) => (one.status === 'fulfilled' ? one.value.key : ''));
  expect(new Set(keys).size).toBe(3);
  expect(keys).toContain('same-22');
  expect((await stores.catalog().links.findByAddress(host, 'taken-2'))?.id).toBe(owner.id);
});

it('a chosen key that is refused leaves no name row behind', async () => {
  await create('chosen-3');
  const settled = await Promise.allSettled([create('chosen-3'), create('Chosen-3'), create('other-3')]);
  expect(outcomes(settled)).toEqual({ created: 1, codes: ['conflict'] });
  expect(await rowsOf('chosen-3')).toBe(1);
});

it.each([
  ['a link', 'owner-4', async () => undefined],
  ['a link that was removed', undefined, (id: string) => catalog.links.removeMany(workspaceId, [id])],
])('the id of %s is not assigned again', async (_whose, key, then) => {
  const owner = await create('owner-4');
  await then(owner.id);
  ids.push(owner.id);
  await expect(create()).rejects.toMatchObject({ code: 'internal_server_error' });
  expect((await stores.catalog().links.findByAddress(host, 'owner-4'))?.key).toBe(key);
  expect((await catalog.links.get(workspaceId, owner.id))?.key).toBe(key);
  expect((await create()).id).not.toBe(owner.id);
});

it('a failure with another random key is logged, and leaves the links that were made before in the answer', async () => {
  const owner = await create('taken-5');
  draws.push('probe', 'probe', 'Taken-5', 'made-55', 'other-5');
  // The second attempt is refused: its id is that of another link.
  ids.push(createResourceId('link', Date.now()), createResourceId('link', Date.now()), owner.id);
  const link = { domain: host, url: 'https://acme.com' };
  const made = await catalog.links.createMany(workspaceId, [link, link]);
  expect(made).toMatchObject([{ code: 'internal_server_error' }, { key: 'made-55' }]);
  expect(stores.warnings).toEqual(['links of a bulk creation could not be stored with other random keys']);
  expect([draws, ids]).toEqual([[], []]);
  expect((await stores.catalog().links.findByAddress(host, 'made-55'))?.key).toBe('made-55');
});
