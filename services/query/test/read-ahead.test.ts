import { expect, test } from 'vitest';
import { createReadAhead } from '../src/events/read-ahead.js';

/** Reads that say for which ids they were made; the value of an id is how many reads there were. */
function aReader() {
  const reads: string[][] = [];
  let failure: Error | undefined;
  const read = async (_workspaceId: string, ids: readonly string[]) => {
    reads.push([...ids]);
    if (failure !== undefined) throw failure;
    return new Map(ids.map((id) => [id, reads.length]));
  };
  const ahead = createReadAhead(read, async (_workspaceId, ids) => new Map(ids.map((id) => [id, 1000])));
  return {
    reads,
    failNext: (err: Error | undefined) => {
      failure = err;
    },
    /** A page with these ids; tells what was read before its rows were there. */
    async page(ids: string[], workspaceId = 'ws', list = 'clicks') {
      const before = reads.length;
      const valuesOf = ahead.begin(workspaceId, list);
      const early = reads.slice(before);
      const values = await valuesOf(ids);
      expect(ids.filter((id) => !values.has(id))).toEqual([]);
      return { early, late: reads.slice(before + early.length) };
    },
    ahead,
  };
}

test('a page that has nothing new over those before it makes the next one read ahead', async () => {
  const { page } = aReader();
  expect(await page(['a', 'b'])).toEqual({ early: [], late: [['a', 'b']] });
  expect(await page(['b', 'a'])).toEqual({ early: [], late: [['b', 'a']] });
  expect(await page(['a'])).toEqual({ early: [['b', 'a']], late: [] });
});

test('what is missing is read afterwards, and the next page waits for its rows again', async () => {
  const { page } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  expect(await page(['a', 'b'])).toEqual({ early: [['a']], late: [['b']] });
  expect(await page(['a', 'b'])).toEqual({ early: [], late: [['a', 'b']] });
  expect(await page(['b'])).toEqual({ early: [['a', 'b']], late: [] });
});

test('of those that are late the values of the moment count, whatever was read ahead', async () => {
  const { page, ahead, reads } = aReader();
  for (let time = 0; time < 2; time++) await page(['a', 'b']);
  const values = await ahead.begin('ws', 'clicks')(['a', 'b', 'c'], new Set(['b', 'c']));
  expect(values).toEqual(new Map(Object.entries({ a: 3, b: 1000, c: 1000 })));
  expect(reads.slice(2)).toEqual([['a', 'b']]);
});

test('values are read anew for every page', async () => {
  const { page, ahead } = aReader();
  for (let time = 0; time < 3; time++) await page(['a']);
  const before = (await ahead.begin('ws', 'clicks')(['a'])).get('a');
  expect((await ahead.begin('ws', 'clicks')(['a'])).get('a')).toBe(before! + 1);
});

test('lists of other workspaces and kinds are others', async () => {
  const { page } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  expect((await page(['a'], 'another')).early).toEqual([]);
  expect((await page(['a'], 'ws', 'leads')).early).toEqual([]);
});

test('a thousand ids are remembered, the latest', async () => {
  const { page } = aReader();
  const many = Array.from({ length: 1500 }, (_, index) => `id${index}`);
  await page(many);
  await page(many.slice(600));
  const { early } = await page(['id1499']);
  expect(early[0]).toHaveLength(1000);
  expect(early[0]).toContain('id600');
});

test('a read ahead that fails fails its page, unless the page was never asked for', async () => {
  const { page, ahead, failNext } = aReader();
  for (let time = 0; time < 2; time++) await page(['a']);
  failNext(new Error('away'));
  ahead.begin('ws', 'clicks');
  const valuesOf = ahead.begin('ws', 'clicks');
  await expect(valuesOf(['a'])).rejects.toThrow('away');
  failNext(undefined);
  expect((await page(['a'])).late.length).toBeLessThanOrEqual(1);
});
