import { ClickHouseError } from '@waymark/clickhouse';
import { expect, it } from 'vitest';
import { createSliceReader } from '../../src/stream/slice-reader.js';
import { createWorkspaceTail, type Slice } from '../../src/stream/workspace-tail.js';

const positionAt = (number: number) => ({ epoch: 1, number });

/** A tail of two inserts with 2000 events each. */
function aTail() {
  const tail = createWorkspaceTail(positionAt(0), async () => []);
  const ids = Array.from({ length: 2000 }, (_, index) => String(index));
  tail.append([
    { start: positionAt(0), end: positionAt(2000), kind: 'click', ids },
    { start: positionAt(2000), end: positionAt(4000), kind: 'click', ids },
  ]);
  return tail;
}

const idsOf = ({ entries }: Slice) => entries.flatMap(({ ids }) => ids).length;

/** Reads all slices of the tail. @param charsOf the characters of the event of a number */
async function readAll(charsOf: (number: number) => number, refuse: (slice: Slice) => boolean = () => false) {
  const slices: { readonly ids: number; readonly chars: number }[] = [];
  const sent: number[] = [];
  let ids = 0;
  const readAfter = createSliceReader(aTail(), async (slice) => {
    if (refuse(slice))
      throw new Error('a read', { cause: new ClickHouseError({ message: '', code: '396', type: '' }) });
    ids = idsOf(slice);
    return slice.entries.flatMap(({ start, ids: each }) =>
      each.map((_, index) => {
        const number = start.number + index + 1;
        return { position: positionAt(number), text: 'x'.repeat(charsOf(number)) };
      }),
    );
  });
  for (let position = positionAt(0); position.number < 4000; ) {
    const slice = await readAfter(position);
    sent.push(...slice.frames.map((frame) => frame.position.number));
    slices.push({ ids, chars: slice.frames.reduce((sum, { text }) => sum + text.length, 0) });
    position = slice.end;
  }
  return { slices, sent };
}

const ALL = Array.from({ length: 4000 }, (_, index) => index + 1);

it('a stream holds at most a megabyte of a slice, also where large events follow small ones', async () => {
  const { slices, sent } = await readAll((number) => (number > 1500 ? 24_000 : 10));
  expect(sent).toEqual(ALL);
  expect(Math.max(...slices.map(({ chars }) => chars))).toBeLessThanOrEqual(1_000_000);
});

it('small events are read a thousand at a time, after the first hundred', async () => {
  const { slices, sent } = await readAll(() => 10);
  expect(sent).toEqual(ALL);
  expect(slices.map(({ ids }) => ids)).toEqual([100, 1000, 1000, 1000, 900]);
});

it('an event that is larger than that is sent alone', async () => {
  const { slices, sent } = await readAll((number) => (number === 50 ? 3_000_000 : 10));
  expect(sent).toEqual(ALL);
  expect(slices.filter(({ chars }) => chars > 1_000_000).map(({ chars }) => chars)).toEqual([3_000_000]);
});

it('a slice that is too large for ClickHouse is read in smaller ones', async () => {
  const isLarge = ({ entries, end }: Slice) => end.number > 3900 && entries.flatMap(({ ids }) => ids).length > 30;
  const { slices, sent } = await readAll((number) => (number > 3900 ? 40_000 : 10), isLarge);
  expect(sent).toEqual(ALL);
  expect(slices.length).toBeLessThan(20);
});

it('readers whose frames differ a little cut a tail alike, so that they share its queries', async () => {
  const [one, other] = await Promise.all([2400, 2900].map((chars) => readAll(() => chars)));
  expect(one?.slices.map(({ ids }) => ids)).toEqual(other?.slices.map(({ ids }) => ids));
});

it('of large entries, few are read from Redis for a slice', async () => {
  const asked: number[] = [];
  const tail = createWorkspaceTail(positionAt(60_000), async ({ number }, entriesMax) => {
    asked.push(entriesMax);
    const ids = Array.from({ length: 1000 }, (_, index) => String(index));
    return [{ start: positionAt(number), end: positionAt(number + 1000), kind: 'click', ids }];
  });
  for (const number of [0, 1000, 2000]) await tail.after(positionAt(number), 100);
  expect(asked).toEqual([50, 10, 10]);
});
