import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRecordSplitter, type RecordFormat } from '../../src/export/complete-records.js';

/** Pushes a text in pieces of those lengths, over and over. */
function pushed(format: RecordFormat, text: string, lengths: readonly number[]) {
  const splitter = createRecordSplitter(format);
  const bytes = Buffer.from(text);
  const results = [];
  for (let [at, piece] = [0, 0]; at < bytes.length; piece += 1) {
    const length = lengths[piece % lengths.length] ?? 1;
    results.push(splitter.push(bytes.subarray(at, at + length)));
    at += length;
  }
  return { results, isComplete: splitter.isComplete() };
}

const lengthsArbitrary = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const field = fc.string({ unit: fc.constantFrom('a', 'ö', '"', ',', '\r', '\n', '\r\n'), maxLength: 6 });
const cases = [
  [
    'csv',
    fc.array(fc.tuple(field, field)),
    (row: unknown) => stringify([row as string[]], { record_delimiter: '\r\n', quoted_match: /[\r\n]/ }),
  ],
  ['ndjson', fc.array(fc.record({ a: fc.string({ unit: 'binary' }) })), (row: unknown) => `${JSON.stringify(row)}\n`],
] as const;

it.each(cases)('a %s file is split after whole records, wherever its bytes were cut', (format, rows, textOf) => {
  fc.assert(
    fc.property(
      rows as fc.Arbitrary<unknown[]>,
      lengthsArbitrary,
      fc.string({ unit: fc.constantFrom('x', 'ö') }),
      (all, lengths, rest) => {
        const records = all.map(textOf);
        const { results, isComplete } = pushed(format, records.join('') + rest, lengths);
        expect(Buffer.concat(results.map(({ bytes }) => bytes)).toString()).toBe(records.join(''));
        expect(isComplete).toBe(rest === '');
        let seen = 0;
        for (const { bytes, count, last } of results) {
          expect(bytes.toString()).toBe(records.slice(seen, seen + count).join(''));
          seen += count;
          expect(last?.toString()).toBe(count === 0 ? undefined : records[seen - 1]?.slice(0, -1));
        }
      },
    ),
  );
});
