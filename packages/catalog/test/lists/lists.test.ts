import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, outcomes } from '../test-catalog.js';

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
  const tags = [];
  for (const name of names) tags.push(await catalog.tags.create(workspace.id, { name }));
  for (const [index, search] of names.entries()) {
    const found = await catalog.tags.list(workspace.id, { ...PAGE, filters: { search } });
    expect(found.map(({ id }) => id)).toEqual([tags[index]?.id]);
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

describe('a page whose records are removed while it is read', () => {
  /** A catalog that runs `remove` after the statement that finds the ids of a page, before it reads these records. */
  function removingCatalog(remove: () => Promise<unknown>): Catalog {
    let isRemoved = false;
    const client = new Proxy(stores.database.client, {
      get(target, name) {
        if (name !== 'rows') return Reflect.get(target, name);
        return async (params: Parameters<typeof target.rows>[0]) => {
          const rows = await target.rows(params);
          if (!isRemoved && /SELECT id\b[^(]* FROM links AS record /.test(params.query)) {
            isRemoved = true;
            await remove();
          }
          return rows;
        };
      },
    });
    return stores.catalog({ database: { client } });
  }

  it('has those that follow, because a short page is taken for the last one', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const url = 'https://acme.com/some/page';
    const links: { readonly id: string }[] = [];
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      links.push(await catalog.links.create(workspace.id, { domain: host, key, url }));
    }
    const removed = [1, 3].map((index) => links[index]?.id ?? '');
    const reader = removingCatalog(() => catalog.links.removeMany(workspace.id, removed));
    const filters = { showArchived: false, search: 'some/page' };
    const page = { filters, sortBy: 'createdAt', sortOrder: 'asc', limit: 3, offset: 0 } as const;
    const found = await reader.links.list(workspace.id, page);
    expect(found.map(({ key }) => key)).toEqual(['a', 'c', 'e']);
  });

  it('has those that follow when links are sorted by a total', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const links: { readonly id: string }[] = [];
    for (const key of ['a', 'b', 'c', 'd']) {
      links.push(await catalog.links.create(workspace.id, { domain: host, key, url: 'https://acme.com' }));
    }
    const reader = removingCatalog(() => catalog.links.removeMany(workspace.id, [links[0]?.id ?? '']));
    const page = { filters: { showArchived: false }, sortBy: 'clicks', sortOrder: 'asc', limit: 3, offset: 0 } as const;
    const found = await reader.links.list(workspace.id, page);
    expect(found.map(({ key }) => key)).toEqual(['_root', 'b', 'c']);
  });
});
