import { createEventId } from '@waymark/contract';
import { aClick, aLead, aSale } from '@waymark/test-kit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowKey, rowSubjects } from '../src/index.js';

const number = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String);
/** Texts that look like what is between the values of a row. */
const name = fc.string({ unit: fc.constantFrom('"', '\\', ',', '1', 'a', '\n', '\u2028', '[', ']', '🎉') });
const facts = fc.record({
  workspaceId: number,
  linkId: number,
  customerId: number,
  timestampMs: fc.integer({ min: 0, max: 2 ** 41 }),
  eventName: name,
});

it('key and subjects of a row are what it was made of, whatever the name of the event', () => {
  fc.assert(
    fc.property(facts, ({ workspaceId, linkId, customerId, timestampMs, eventName }) => {
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
        expect(rowSubjects(kind, text)).toEqual({ workspaceId, eventId, linkId, customerId: customer });
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
])('what is no row has no subjects: %s', (text) => {
  expect([rowSubjects('click', text), rowSubjects('lead', text), rowSubjects('sale', text)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
