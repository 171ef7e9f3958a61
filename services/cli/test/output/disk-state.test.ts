import { expect, it } from 'vitest';
import { isFull, isNearlyFull, spaceText } from '../../src/commands/disk-state.js';

const megabytes = (count: number) => count * 1024 ** 2;

it.each([
  [12, 300, { full: true, nearlyFull: true, text: '12 MB free of 300 MB' }],
  [63.9, 300, { full: true, nearlyFull: true, text: '63 MB free of 300 MB' }],
  [64, 2048, { full: false, nearlyFull: true, text: '64 MB free of 2 GB' }],
  [1023, 2048, { full: false, nearlyFull: true, text: '1023 MB free of 2 GB' }],
  [1024, 256_000, { full: false, nearlyFull: false, text: '1 GB free of 250 GB' }],
])('a disk with %d MB free of %d MB is described as %o', (free, total, { full, nearlyFull, text }) => {
  const space = { freeBytes: megabytes(free), totalBytes: megabytes(total) };
  expect([isFull(space), isNearlyFull(space), spaceText(space)]).toEqual([full, nearlyFull, text]);
});
