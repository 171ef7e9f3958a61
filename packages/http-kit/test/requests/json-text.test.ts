import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonArray } from '../../src/index.js';

test('an array of JSON texts is the array of their values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.json()), async (texts) => {
      expect(JSON.parse((await jsonArray(texts)).toString())).toEqual(texts.map((text) => JSON.parse(text)));
    }),
  );
});

test('its bytes are those of the texts joined', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary', minLength: 1 })), async (items) => {
      expect(await jsonArray(items)).toEqual(Buffer.from(`[${items.join(',')}]`));
    }),
  );
});

test('other requests have turns while a large array is written', async () => {
  let turns = 0;
  let isWriting = true;
  const takeTurn = () => {
    turns += 1;
    if (isWriting) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  await jsonArray(Array.from({ length: 200 }, () => 'x'.repeat(100_000)));
  isWriting = false;
  // Of 20 million characters, two million at a time, twice.
  expect(turns).toBeGreaterThanOrEqual(18);
});
