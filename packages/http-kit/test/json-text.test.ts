import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonArray } from '../src/index.js';

test('an array of JSON texts is the array of their values', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), (values) => {
      expect(JSON.parse(jsonArray(values.map((value) => JSON.stringify(value))).toString())).toEqual(values);
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
