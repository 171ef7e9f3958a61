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
