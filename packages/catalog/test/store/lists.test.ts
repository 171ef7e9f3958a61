import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, outcomes, startStores, type TestStores } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const PAGE = { filters: {}, sortBy: 'name', sortOrder: 'asc', page: 1, pageSize: 100 } as const;

it('a list reflects earlier creations, changes and removals through another instance', async () => {
  const { workspace } = await aWorkspace(catalog);
  const [tag, gone] = await Promise.all([
    catalog.tags.create(workspace.id, { name: 'b' }),
    catalog.tags.create(workspace.id, { name: 'c' }),
    catalog.tags.create(workspace.id, { name: 'a' }),
  ]);
  const other = stores.catalog();
  await other.tags.update(workspace.id, tag.id, () => ({ name: 'z' }));
  await other.tags.remove(workspace.id, gone.id);
  expect((await catalog.tags.list(workspace.id, PAGE)).map(({ name }) => name)).toEqual(['a', 'z']);
});

it('values of filters never become SQL, whatever they contain', async () => {
  const { workspace } = await aWorkspace(catalog);
  const names = ["' OR 1=1 --", '{search:String}', '\\', '%', 'a\ud800'];
  for (const name of names) await catalog.tags.create(workspace.id, { name });
  for (const search of names) {
    const found = await catalog.tags.list(workspace.id, { ...PAGE, filters: { search } });
    expect(found).toHaveLength(1);
  }
});

it('a quota holds for concurrent creations through two instances', async () => {
  const { workspace } = await aWorkspace(catalog);
  const other = stores.catalog();
  const settled = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? catalog : other).tags.create(workspace.id, { name: `t${index}` }, 3),
    ),
  );
  expect(outcomes(settled)).toEqual({ created: 3, codes: ['forbidden'] });
});
