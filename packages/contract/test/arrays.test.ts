import { expect, it } from 'vitest';
import { chunksOf, groupBy } from '../src/index.js';

it.each([
  ['no items', [], []],
  ['fewer than a chunk', [1], [[1]]],
  [
    'whole chunks',
    [1, 2, 3, 4],
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['a rest', [1, 2, 3], [[1, 2], [3]]],
])('chunks have the items in their order: %s', (_what, items, chunks) => {
  expect([...chunksOf(items, 2)]).toEqual(chunks);
});

it('groups have the items of a key, in the order of their first occurrence', () => {
  const groups = groupBy(['bb', 'a', 'cc', 'd'].values(), ({ length }) => length);
  expect([...groups]).toEqual([
    [2, ['bb', 'cc']],
    [1, ['a', 'd']],
  ]);
  expect(groupBy([], String)).toEqual(new Map());
});
