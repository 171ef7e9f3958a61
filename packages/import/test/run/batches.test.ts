import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Lost, MapRecord } from '../../src/model/source-link.js';
import { startImports, type TestImport } from './test-import.js';

let imports: TestImport;
beforeAll(async () => {
  imports = await startImports();
});
afterAll(() => imports.close());

it('a batch has at most a hundred links, also of records with many, which share the list of their lost values', async () => {
  const acme = await imports.workspace();
  const { catalog } = imports;
  let copies = 0;
  class CountedList extends Array<Lost> {
    override [Symbol.iterator]() {
      copies++;
      return super[Symbol.iterator]();
    }
  }
  const sizes: number[] = [];
  const copiesBefore: number[] = [];
  const createMany: typeof catalog.links.createMany = (workspaceId, links) => {
    sizes.push(links.length);
    copiesBefore.push(copies);
    copies = 0;
    return catalog.links.createMany(workspaceId, links);
  };
  const mapRecord: MapRecord = (record) => {
    const lost = new CountedList({ field: 'size', value: 'L', reason: 'has no place here' });
    return Array.from({ length: 60 }, (_, index) => ({
      ...{ domain: null, key: `${record}-${index}`, fields: { url: 'https://a.test' }, tags: [], folder: null },
      ...{ createdAt: null, counts: null, sourceId: null, lost },
    }));
  };
  async function* rows() {
    for (const row of [1, 2, 3, 4]) yield { row, record: `r${row}` };
  }
  const deps = { catalog: { ...catalog, links: { ...catalog.links, createMany } }, defaultDomain: undefined };
  const result = await imports.run(acme, { rows: rows(), mapRecord }, { deps: { ...deps, now: Date.now } });
  expect(result).toMatchObject({ rows: 4, created: 240, rejections: [] });
  expect(sizes).toEqual([100, 100, 40]);
  // Each list is read for the report of a link, after the link is stored.
  expect(copiesBefore).toEqual([0, 100, 100]);
  expect(result.losses).toHaveLength(240);
});
