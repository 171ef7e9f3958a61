import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ListPage, slicesOf } from '../src/export-source.js';

interface Row {
  readonly id: string;
  /** Characters of its item. */
  readonly chars: number;
}

const PAGE_CHARS = 1_000_000;
const PAGE_ROWS = 500;

/** A list of rows with these sizes, and the pages that were read. */
function listOf(sizes: readonly number[]) {
  const rows = sizes.map((chars, index): Row => ({ id: String(index), chars }));
  const pages: (readonly Row[])[] = [];
  const source = slicesOf<Row>({
    pageChars: PAGE_CHARS,
    async readPage(after, rowsMax): Promise<ListPage<Row>> {
      const start = after === undefined ? 0 : Number(after.id) + 1;
      const limit = Math.min(PAGE_ROWS, rowsMax);
      pages.push(rows.slice(start, start + limit));
      return { rows: rows.slice(start, start + limit), limit };
    },
    itemsOf: async (some) => some.flatMap(({ chars }) => (chars === 0 ? [] : ['x'.repeat(chars)])),
    idOf: ({ id }) => id,
  });
  return { source, pages };
}

test('the slices of a list have each of its rows once, in order, whatever the sizes', async () => {
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.integer({ min: 0, max: 60_000 })), { maxLength: 1500, size: 'max' });
  await fc.assert(
    fc.asyncProperty(sizes, async (all) => {
      const read: number[] = [];
      let lastId = '-1';
      for await (const slice of listOf(all).source) {
        read.push(...slice.items.map(({ length }) => length));
        expect(Number(slice.lastId)).toBeGreaterThan(Number(lastId));
        ({ lastId } = slice);
      }
      expect([read, lastId]).toEqual([all.filter((chars) => chars > 0), String(all.length - 1)]);
    }),
    { numRuns: 30 },
  );
});

test('a page after rows without items has no more rows than the first one, because their size is not known', async () => {
  const { source, pages } = listOf([...Array(250).fill(0), ...Array(120).fill(50_000)]);
  for await (const _ of source);
  expect(pages.map(({ length }) => length)).toEqual([100, 100, 100, 20, 20, 20, 10]);
});

test('a page or slice has few large rows, or up to its maximum of small ones', async () => {
  const slicesAndPages = async (chars: number) => {
    const { source, pages } = listOf(Array(2000).fill(chars));
    const slices: number[] = [];
    for await (const { items } of source) slices.push(items.length);
    return { slices: [slices[0], Math.max(...slices.slice(1))], pages: [pages[0]?.length, pages[1]?.length] };
  };
  expect(await slicesAndPages(50_000)).toEqual({ slices: [10, 5], pages: [100, 20] });
  expect(await slicesAndPages(1000)).toEqual({ slices: [10, 100], pages: [100, PAGE_ROWS] });
  expect(await slicesAndPages(2_000_000)).toEqual({ slices: [10, 1], pages: [100, 1] });
});
