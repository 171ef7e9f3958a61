import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { linkAddress } from '../../src/model/entity-types.js';
import { nameLock } from '../../src/store/write-context.js';
import { aWorkspace, outcomes } from '../test-catalog.js';

/** Concurrent creations of single links in a workspace share inserts, and a failing one does not affect the others. */

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
});
afterAll(() => stores.close());

const create = (key: string, externalId?: string) =>
  catalog.links.create(workspaceId, { domain: host, key, url: 'https://acme.com', externalId: externalId ?? null });

/** The number of inserts so far: each insert numbers its parts consecutively. */
async function insertsSoFar(): Promise<number> {
  const result = await stores.database.client.query({
    query: "SELECT max(max_block_number) FROM system.parts WHERE database = currentDatabase() AND table = 'links'",
    format: 'JSONCompactEachRow',
  });
  const [[inserts] = []] = await result.json<[string]>();
  return Number(inserts);
}

it('a hundred concurrent creations take a few inserts', async () => {
  const before = await insertsSoFar();
  const links = await Promise.all(Array.from({ length: 100 }, (_, index) => create(`key-${index}`)));
  expect(new Set(links.map(({ key }) => key)).size).toBe(100);
  expect((await insertsSoFar()) - before).toBeLessThan(10);
  expect(await catalog.links.count(workspaceId, { showArchived: true })).toBe(101);
});

it('a locked name delays only the creation that uses it', async () => {
  const lock = `waymark:lock:${nameLock(linkAddress(host, 'held'))}`;
  await stores.client.set(lock, 'somebody', 'PX', 60_000);
  let isHeldMade = false;
  const first = create('first');
  const held = create('held').then(() => {
    isHeldMade = true;
  });
  await Promise.all([first, create('second'), create('third')]);
  expect(isHeldMade).toBe(false);
  await stores.client.del(lock);
  await held;
  expect(await catalog.links.findByAddress(host, 'held')).toBeDefined();
});

it('when the first creation of a name fails for another reason, the next one gets the name', async () => {
  await create('owner', 'mine');
  const settled = await Promise.allSettled([create('ahead'), create('wanted', 'mine'), create('wanted')]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('a creation that no record can be made of is refused, alone and among others', async () => {
  const refused = () =>
    catalog.links.create(workspaceId, {
      domain: host,
      key: 'impossible',
      url: 'https://acme.com',
      archived: 7 as never,
    });
  await expect(refused()).rejects.toThrow();
  const settled = await Promise.allSettled([create('one'), refused(), create('two')]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('a batch gives the names of its refused links to later ones, and each name once', async () => {
  await create('owner', 'mine');
  const link = (key: string, externalId: string | null) => ({ domain: host, url: 'https://acme.com', key, externalId });
  const made = await catalog.links.createMany(workspaceId, [
    link('owner', 'free'),
    link('wanted', 'mine'),
    link('one', 'free'),
    link('wanted', null),
    link('two', 'free'),
    link('WANTED', 'other'),
    link('three', 'other'),
  ]);
  const conflict = { code: 'conflict' };
  expect(made).toMatchObject([
    ...[conflict, conflict, { key: 'one', externalId: 'free' }, { key: 'wanted' }],
    ...[conflict, conflict, { key: 'three', externalId: 'other' }],
  ]);
  const found = await Promise.all(['free', 'other'].map((id) => catalog.links.findByExternalId(workspaceId, id)));
  expect(found.map((one) => one?.key)).toEqual(['one', 'three']);
});

it('of several creations of one name one succeeds; creations of other names succeed too', async () => {
  const wanted = ['ahead', 'one', 'ONE', 'two', 'one', 'three'];
  const settled = await Promise.allSettled(wanted.map((key) => create(key)));
  expect(outcomes(settled)).toEqual({ created: 4, codes: ['conflict'] });
});
