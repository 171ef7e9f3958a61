import { expect, it } from 'vitest';
import { infoField, memoryOf, memoryShare } from '../../src/index.js';

const INFO = '# Memory\r\nused_memory:750\r\nused_memory_rss:900\r\nmaxmemory:1000\r\nmaxmemory_policy:noeviction\r\n';

it('fields of INFO are read by their whole name, whatever ends their line', () => {
  expect(infoField(INFO, 'maxmemory_policy')).toBe('noeviction');
  expect(infoField(INFO, 'memory')).toBeUndefined();
  expect(memoryOf(INFO)).toEqual({ usedBytes: 750, limitBytes: 1000 });
});

it('the share of the memory that is used is 0 without a limit', () => {
  expect(memoryShare(INFO)).toBe(0.75);
  expect(memoryShare(INFO.replace('1000', '0'))).toBe(0);
  expect(memoryShare('')).toBe(0);
});
