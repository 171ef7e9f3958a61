import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createEventId,
  createResourceId,
  EVENT_ID_FUTURE_MS,
  eventIdTime,
  formatResourceId,
  parseResourceId,
  RESOURCE_PREFIX,
  type ResourceKind,
  resourceIdTime,
  trustedEventIdTime,
} from '../src/index.js';

const anyTime = fc.integer({ min: 0, max: 2 ** 42 - 1 });
const anyKind = fc.constantFrom(...(Object.keys(RESOURCE_PREFIX) as ResourceKind[]));

test('an event id is 16 base62 characters that encode its millisecond', () => {
  fc.assert(
    fc.property(anyTime, (time) => {
      const id = createEventId(time);
      expect(id).toMatch(/^[0-9A-Za-z]{16}$/);
      expect(eventIdTime(id)).toBe(time);
    }),
    { numRuns: 5000 },
  );
});

test('event ids of different milliseconds sort by their time', () => {
  fc.assert(
    fc.property(anyTime, anyTime, (first, second) => {
      fc.pre(first < second);
      expect(createEventId(first) < createEventId(second)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});

test('event ids of one millisecond do not collide', () => {
  const ids = new Set(Array.from({ length: 100_000 }, () => createEventId(1_750_000_000_000)));
  expect(ids.size).toBe(100_000);
});

test('text that is not an event id has no time', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 16, maxLength: 16 })), (text) => {
      fc.pre(!/^[0-9A-Za-z]{16}$/.test(text));
      expect(eventIdTime(text)).toBeUndefined();
    }),
  );
  expect(eventIdTime('zzzzzzzzzzzzzzzz')).toBeUndefined();
  expect(eventIdTime('L1rEaERPoKMKI3-k')).toBeUndefined();
  expect(eventIdTime(`${createEventId(0)}0`)).toBeUndefined();
});

test('a time outside 42 bits throws', () => {
  for (const time of [-1, 2 ** 42, 1.5, Number.NaN]) expect(() => createEventId(time)).toThrow(RangeError);
});

test('a client-supplied id more than ten minutes in the future is not trusted', () => {
  const now = 1_760_000_000_000;
  expect(trustedEventIdTime(createEventId(now + EVENT_ID_FUTURE_MS), now)).toBe(now + EVENT_ID_FUTURE_MS);
  expect(trustedEventIdTime(createEventId(now + EVENT_ID_FUTURE_MS + 1), now)).toBeUndefined();
});

test('a resource id converts to its 64-bit number and back', () => {
  fc.assert(
    fc.property(anyKind, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (kind, number) => {
      const id = formatResourceId(kind, number);
      expect(id).toHaveLength(RESOURCE_PREFIX[kind].length + 11);
      expect(parseResourceId(kind, id)).toBe(number.toString());
    }),
  );
});

test('an id of another kind, a wrong length, a foreign digit or more than 64 bits has no number', () => {
  for (const id of ['cus_00000000001', 'link_0000000001', 'link_0000000000-', 'link_zzzzzzzzzzz', '']) {
    expect(parseResourceId('link', id)).toBeUndefined();
  }
  expect(() => formatResourceId('link', 2n ** 64n)).toThrow(RangeError);
});

test('resource ids of one process increase strictly, even when the clock stands still or goes back', () => {
  const now = 1_770_000_000_000;
  const ids = [now, now, now, now - 5000, now].map((time) => createResourceId('link', time));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(resourceIdTime('link', ids[0]!)).toBe(now);
});
