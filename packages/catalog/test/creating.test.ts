import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../src/index.js';
import { aWorkspace, outcomes, startStores, type TestStores } from './test-catalog.js';

let stores: TestStores;
let catalog: Catalog;
let other: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  other = stores.catalog();
});
afterAll(() => stores.close());

describe('creating', () => {
  it('of a hundred creates of one address at once exactly one succeeds, the others conflict', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const create = (index: number) =>
      (index % 2 === 0 ? catalog : other).links.create(workspace.id, {
        domain: host,
        key: index % 3 === 0 ? 'Try' : 'try',
        url: `https://acme.com/${index}`,
      });
    const settled = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => create(index)));
    expect(outcomes(settled)).toEqual({ created: 1, codes: ['conflict'] });
    const winner = settled.find((outcome) => outcome.status === 'fulfilled');
    expect(await other.links.findByAddress(host, 'try')).toEqual(winner?.value);
  });
});
