import { createEventId } from '@waymark/contract';
import { aClick, aLead, aSale } from '@waymark/test-kit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowIds, rowKey } from '../src/index.js';

const number = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String);
/** Texts with the delimiters of a row. */
const name = fc.string({ unit: fc.constantFrom('"', '\\', ',', '1', 'a', '\n', '\u2028', '[', ']', '🎉') });
const fields = fc.record({
  workspaceId: number,
  linkId: number,
  customerId: number,
  timestampMs: fc.integer({ min: 0, max: 2 ** 41 }),
  eventName: name,
});

it('rowKey and rowIds read the ids of a row, for any event name', () => {
  fc.assert(
    fc.property(fields, ({ workspaceId, linkId, customerId, timestampMs, eventName }) => {
      const eventId = createEventId(timestampMs);
      const click = aClick({ workspaceId, linkId, timestampMs, clickId: eventId });
      const conversion = { click, eventId, customerId, timestampMs, eventName };
      for (const [kind, row, customer] of [
        ['click', click, undefined],
        ['lead', aLead(conversion), customerId],
        ['sale', aSale(conversion), customerId],
      ] as const) {
        const text = JSON.stringify(row);
        expect(rowKey(text)).toEqual({ workspaceId, timestampMs, eventId });
        expect(rowIds(kind, text)).toEqual({ workspaceId, eventId, linkId, customerId: customer });
      }
    }),
  );
});

it.each([
  `["1",2,"a","${'a'.repeat(10_000)}",null,"3",`,
  '',
  'no row',
  '[1]',
  '{}',
  '["1",2]',
  '[["1"],2,"a",3]',
  '["x",2,"a","3"]',
  '["1",2,"a"',
])('rowIds of a malformed row are undefined: %s', (text) => {
  expect([rowIds('click', text), rowIds('lead', text), rowIds('sale', text)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
