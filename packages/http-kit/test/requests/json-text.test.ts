import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonArray } from '../../src/index.js';

test('an array of JSON texts is the array of their values', () => {
  fc.assert(
    fc.property(fc.array(fc.json()), (texts) => {
      expect(JSON.parse(jsonArray(texts).toString())).toEqual(texts.map((text) => JSON.parse(text)));
    }),
  );
});

test('its bytes are those of the texts joined', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', minLength: 1 })), (items) => {
      expect(jsonArray(items)).toEqual(Buffer.from(`[${items.join(',')}]`));
    }),
  );
});
