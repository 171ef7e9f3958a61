import { expect, test } from 'vitest';
import { alternated } from '../src/run/alternated.js';
import type { ProjectName } from '../src/run/test-projects.js';

test('files that measure run before all others, and those of the system between those of stores', () => {
  const files: readonly (readonly [string, ProjectName])[] = [
    ['one', 'system'],
    ['hostile', 'measured'],
    ['two', 'system'],
    ['first', 'stores'],
    ['second', 'unit'],
    ['parsers', 'measured'],
    ['third', 'stores'],
    ['fourth', 'stores'],
  ];
  const order = alternated(files, ([, project]) => project).map(([name]) => name);
  expect(order).toEqual(['hostile', 'parsers', 'first', 'one', 'second', 'third', 'two', 'fourth']);
});
