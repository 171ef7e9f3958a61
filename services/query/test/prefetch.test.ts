import { expect, test } from 'vitest';
import { createPrefetcher } from '../src/events/prefetch.js';

/** Records the ids of each read. The value of an id is the number of reads so far, or 1000 for a fresh read. */
function aReader() {
  const reads: string[][] = [];
  let failure: Error | undefined;
  const read = async (_workspaceId: string, ids: readonly string[]) => {
    reads.push([...ids]);
    if (failure !== undefined) throw failure;
    return new Map(ids.map((id) => [id, reads.length]));
  };
  const prefetcher = createPrefetcher(read, async (_workspaceId, ids) => new Map(ids.map((id) => [id, 1000])));
  return {
    reads,
    /** Makes all further reads fail; undefined ends that. */
    failWith: (err: Error | undefined) => {
      failure = err;
    },
    /** Requests a page with these ids; returns which ids were read before and after its rows were known. */
    async page(ids: string[], workspaceId = 'ws', list = 'clicks') {
      const before = reads.length;
      const valuesOf = prefetcher.start(workspaceId, list);
      const early = reads.slice(before);
      const values = await valuesOf(ids);
      expect(ids.filter((id) => !values.has(id))).toEqual([]);
      return { early, late: reads.slice(before + early.length) };
    },
    prefetcher,
  };
}

test('after a page with only ids of earlier pages, the values of the next one are prefetched', async () => {
  const { page } = aReader();
  expect(await page(['a', 'b'])).toEqual({ early: [], late: [['a', 'b']] });
  expect(await page(['b', 'a'])).toEqual({ early: [], late: [['b', 'a']] });
  expect(await page(['a'])).toEqual({ early: [['b', 'a']], late: [] });
});

test('missing values are read after the rows, and the next page is not prefetched', async () => {
  const { page } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  expect(await page(['a', 'b'])).toEqual({ early: [['a']], late: [['b']] });
  expect(await page(['a', 'b'])).toEqual({ early: [], late: [['a', 'b']] });
  expect(await page(['b'])).toEqual({ early: [['a', 'b']], late: [] });
});

test('fresh values override prefetched ones', async () => {
  const { page, prefetcher, reads } = aReader();
  for (let time = 0; time < 2; time++) await page(['a', 'b']);
  const values = await prefetcher.start('ws', 'clicks')(['a', 'b', 'c'], new Set(['b', 'c']));
  expect(values).toEqual(new Map(Object.entries({ a: 3, b: 1000, c: 1000 })));
  expect(reads.slice(2)).toEqual([['a', 'b']]);
});

test('values are read again for every page', async () => {
  const { page, prefetcher } = aReader();
  for (let time = 0; time < 3; time++) await page(['a']);
  const before = (await prefetcher.start('ws', 'clicks')(['a'])).get('a');
  expect((await prefetcher.start('ws', 'clicks')(['a'])).get('a')).toBe(before! + 1);
});

test('each list of each workspace has its own history', async () => {
  const { page } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  expect((await page(['a'], 'another')).early).toEqual([]);
  expect((await page(['a'], 'ws', 'leads')).early).toEqual([]);
});

test('the most recent thousand ids are kept', async () => {
  const { page } = aReader();
  const many = Array.from({ length: 1500 }, (_, index) => `id${index}`);
  await page(many);
  await page(many.slice(600));
  const { early } = await page(['id1499']);
  expect(early[0]).toHaveLength(1000);
  expect(early[0]).toContain('id600');
});

test('a failed prefetch fails its page, but is ignored if the page is never read', async () => {
  const { page, prefetcher, failWith } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  failWith(new Error('away'));
  prefetcher.start('ws', 'clicks');
  const valuesOf = prefetcher.start('ws', 'clicks');
  await expect(valuesOf(['a'])).rejects.toThrow('away');
  failWith(undefined);
  expect((await page(['a'])).late.length).toBeLessThanOrEqual(1);
});
