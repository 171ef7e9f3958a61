import { expect, test } from 'vitest';
import { memoryLimit } from '../src/metrics/registry.js';

const MB = 1024 ** 2;

test.each([
  ['in a container with a limit', 512 * MB, 512 * MB],
  ['without a limit, as control groups of version 2 and 1 say it', 2 ** 64, undefined],
  ['as Node.js 22 says that there is none', 0, undefined],
  ['where it is not known', undefined, undefined],
])('the limit on the memory of a process %s', (_where, limit, expected) => {
  expect(memoryLimit(limit, 16_384 * MB)).toBe(expected);
});
