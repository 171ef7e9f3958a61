import { insertRows } from '@waymark/clickhouse';
import { createResourceId } from '@waymark/contract';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { recordColumns, recordRow } from '../../src/model/entity-type.js';
import { linkType } from '../../src/model/entity-types.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

it('removing a tag removes it from every link and keeps their other tags', async () => {
  const { workspace, host } = await aWorkspace(catalog);
  const [gone, kept] = await Promise.all([
    catalog.tags.create(workspace.id, { name: 'gone' }),
    catalog.tags.create(workspace.id, { name: 'kept' }),
  ]);
  const draft = { domain: host, url: 'https://acme.com' };
  const [both, one] = await Promise.all([
    catalog.links.create(workspace.id, { ...draft, tagIds: [gone.id, kept.id] }),
    catalog.links.create(workspace.id, { ...draft, tagIds: [gone.id] }),
  ]);
  await stores.catalog().tags.remove(workspace.id, gone.id);
  const links = await catalog.links.getMany(workspace.id, [both.id, one.id]);
  expect([both.id, one.id].map((id) => links.get(id)?.tagIds)).toEqual([[kept.id], []]);
});

it('removing a folder removes it from all its links, even if they are more than one insert changes', async () => {
  const { workspace, host } = await aWorkspace(catalog);
  const folder = await catalog.folders.create(workspace.id, { name: 'gone' });
  const other = await catalog.folders.create(workspace.id, { name: 'kept' });
  const apart = await catalog.links.create(workspace.id, { domain: host, url: 'https://acme.com', folderId: other.id });
  // One more than two inserts change: the links are looked for before and after the removal of the folder.
  const made = Array.from({ length: 1001 }, (_, index) => ({
    ...{ ...apart, id: createResourceId('link', Date.now()), key: `made-${index}`, folderId: folder.id },
  }));
  await insertRows(stores.database.client, {
    ...{ table: linkType.table, columns: recordColumns(linkType) },
    rows: made.map((record) => recordRow(linkType, { record, version: 1 })),
  });
  await catalog.folders.remove(workspace.id, folder.id);
  const links = await stores.catalog().links.getMany(
    workspace.id,
    [...made, apart].map(({ id }) => id),
  );
  expect(new Set(made.map(({ id }) => links.get(id)?.folderId))).toEqual(new Set([null]));
  expect(links.get(apart.id)?.folderId).toBe(other.id);
});
