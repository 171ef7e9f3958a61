import type { Catalog, KeyCaller } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { ExportSource } from '@waymark/export';
import { expect, it } from 'vitest';
import { exportCustomers, exportLinks } from '../src/index.js';

type Part = Parameters<typeof exportCustomers>[3];

const caller = { workspace: { id: 'ws_1' }, apiKey: { role: 'owner', scopes: [] } } as unknown as KeyCaller;
const records = (count: number, first: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `${first + index}` }));

/** A catalog whose lists have 101 records. It refuses the read of each page as often as `refusals` has for it. */
function aBusyCatalog(refusals: Record<'first' | 'second', number>): Catalog {
  const read = (page: 'first' | 'second') => async () => {
    if (refusals[page] > 0) {
      refusals[page] -= 1;
      throw new ApiError('rate_limit_exceeded', 'Too many reads of this workspace are under way.', {
        retryAfterSeconds: 0,
      });
    }
    return page === 'first' ? records(100, 0) : records(1, 100);
  };
  const objects = async (_workspaceId: string, items: readonly object[]) => items;
  return {
    hiddenFolders: { anyFor: async () => false },
    links: { list: read('first'), listFrom: read('second'), objects },
    customers: {
      list: read('first'),
      listFrom: read('second'),
      counters: async () => new Map(),
      toCustomer: (record: object) => record,
    },
  } as unknown as Catalog;
}

async function idsOf(source: ExportSource): Promise<string[]> {
  const ids: string[] = [];
  for await (const { lastId } of source) ids.push(lastId);
  return ids;
}

const EXPORTS = {
  links: (catalog: Catalog, part?: Part) => exportLinks({ catalog, defaultDomain: undefined }, caller, {}, part),
  customers: (catalog: Catalog, part?: Part) => exportCustomers(catalog, caller, {}, part),
};

it.each(['links', 'customers'] as const)(
  'a file of %s that has begun is not cut off while lists are refused',
  async (what) => {
    const source = await EXPORTS[what](aBusyCatalog({ first: 0, second: 3 }));
    expect((await idsOf(source)).at(-1)).toBe('100');
  },
);

it.each(['links', 'customers'] as const)(
  'an attempt of a job of %s ends when its lists are refused ten times',
  async (what) => {
    const refusals = { first: 0, second: 20 };
    const source = await EXPORTS[what](aBusyCatalog(refusals));
    await expect(idsOf(source)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(refusals.second).toBe(10);
  },
);

it.each(['links', 'customers'] as const)(
  'a download of %s waits for its lists until its client leaves',
  async (what) => {
    const { signal: present } = new AbortController();
    const waiting = await EXPORTS[what](aBusyCatalog({ first: 0, second: 20 }), { clientLeft: present });
    expect((await idsOf(waiting)).at(-1)).toBe('100');
    const left = AbortSignal.abort();
    const abandoned = await EXPORTS[what](aBusyCatalog({ first: 0, second: 20 }), { clientLeft: left });
    await expect(idsOf(abandoned)).rejects.toMatchObject({ name: 'AbortError' });
  },
);

it.each(['links', 'customers'] as const)('a file of %s that has not begun is refused at once', async (what) => {
  const source = await EXPORTS[what](aBusyCatalog({ first: 1, second: 0 }));
  await expect(idsOf(source)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
});
