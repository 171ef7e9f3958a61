import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { linkAddress } from '../../src/model/entity-types.js';
import { nameLock } from '../../src/store/write-context.js';
import { aWorkspace, outcomes, startStores, type TestStores } from '../test-catalog.js';

/** Links that a workspace creates one by one, at the same time, are written together; none of them fails for another. */

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

/** Every insert gives its parts the next number. */
async function insertsSoFar(): Promise<number> {
  const result = await stores.database.client.query({
    query: "SELECT max(max_block_number) FROM system.parts WHERE database = currentDatabase() AND table = 'links'",
    format: 'JSONCompactEachRow',
  });
  const [[inserts] = []] = await result.json<[string]>();
  return Number(inserts);
}

it('a hundred at once take a few inserts', async () => {
  const before = await insertsSoFar();
  const links = await Promise.all(Array.from({ length: 100 }, (_, index) => create(`key-${index}`)));
  expect(new Set(links.map(({ key }) => key)).size).toBe(100);
  expect((await insertsSoFar()) - before).toBeLessThan(10);
  expect(await catalog.links.count(workspaceId, { showArchived: true })).toBe(101);
});

it('a name that somebody holds makes only those wait who want it', async () => {
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

it('a name goes to the next who wants it when the first fails for another reason', async () => {
  await create('owner', 'mine');
  const settled = await Promise.allSettled([create('ahead'), create('wanted', 'mine'), create('wanted')]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('of several who want one name one gets it, and who wants another gets that', async () => {
  const wanted = ['ahead', 'one', 'ONE', 'two', 'one', 'three'];
  const settled = await Promise.allSettled(wanted.map((key) => create(key)));
  expect(outcomes(settled)).toEqual({ created: 4, codes: ['conflict'] });
});
