import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedEventId, eventIdTime } from '../src/index.js';

const someTime = fc.integer({ min: 0, max: 2 ** 42 - 1 });
const someBytes = fc.uint8Array({ minLength: 7, maxLength: 7 });

describe('derivedEventId', () => {
  it('has the form and the time of an event id, and is the same for the same bytes', () => {
    fc.assert(
      fc.property(someTime, someBytes, (timeMs, bytes) => {
        const id = derivedEventId(timeMs, bytes);
        expect(id).toMatch(/^[0-9A-Za-z]{16}$/);
        expect(eventIdTime(id)).toBe(timeMs);
        expect(derivedEventId(timeMs, bytes)).toBe(id);
      }),
    );
  });

  it('differs for other bytes, and sorts by time', () => {
    // An id has 53 bits of the 56: not the three highest of the first byte.
    fc.assert(
      fc.property(someTime, someTime, someBytes, fc.nat(52), (one, other, bytes, bit) => {
        const index = 6 - Math.floor(bit / 8);
        const changed = bytes.with(index, (bytes[index] ?? 0) ^ (1 << (bit % 8)));
        expect(derivedEventId(one, changed)).not.toBe(derivedEventId(one, bytes));
        expect(derivedEventId(one, bytes) < derivedEventId(other, bytes)).toBe(one < other);
      }),
    );
  });

  it('refuses times and bytes of which it would make another id', () => {
    for (const timeMs of [-1, 2 ** 42, 1.5])
      expect(() => derivedEventId(timeMs, new Uint8Array(7))).toThrow(RangeError);
    expect(() => derivedEventId(1, new Uint8Array(6))).toThrow(RangeError);
  });
});
