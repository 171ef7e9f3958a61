import { expect, it } from 'vitest';
import { table } from '../../src/output.js';

it('a table has aligned columns', () => {
  const rows = [
    ['ID', 'KIND'],
    ['longer', 'click'],
    ['id', ''],
  ];
  expect(table(rows)).toEqual(['ID      KIND', 'longer  click', 'id']);
});

it('a table may have more rows than a call has arguments', () => {
  const rows = [['ID'], ...Array.from({ length: 200_000 }, (_, index) => [String(index)])];
  expect(table(rows).at(-1)).toBe('199999');
});
