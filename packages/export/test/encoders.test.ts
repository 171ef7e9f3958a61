import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { query } from 'chdb';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { NamedColumn } from '../src/columns.js';
import { createEncoder } from '../src/encoders/create-encoder.js';
import { csvTable } from '../src/encoders/csv.js';
import type { EncoderOptions } from '../src/encoders/encoder.js';

interface Item {
  readonly text: string | null;
  readonly count: number | null;
  readonly done: boolean | null;
  readonly at: string | null;
  readonly tags: readonly string[];
  readonly data: unknown;
}

const COLUMNS: readonly NamedColumn<Item>[] = [
  { name: 'text', type: 'text', read: ({ text }) => text },
  { name: 'count', type: 'integer', read: ({ count }) => count },
  { name: 'done', type: 'flag', read: ({ done }) => done },
  { name: 'at', type: 'time', read: ({ at }) => at },
  { name: 'tags', type: 'texts', read: ({ tags }) => tags },
  { name: 'data', type: 'json', read: ({ data }) => data },
];

const anItem = fc.record({
  text: fc.option(fc.string({ unit: 'grapheme' })),
  count: fc.option(fc.maxSafeInteger()),
  done: fc.option(fc.boolean()),
  at: fc.option(
    fc.date({ min: new Date(0), max: new Date(2 ** 42), noInvalidDate: true }).map((at) => at.toISOString()),
  ),
  tags: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 3 }),
  data: fc.option(fc.jsonValue({ maxDepth: 2 })),
});

function encoded(slices: readonly (readonly Item[])[], options: Partial<EncoderOptions<Item>> = {}): Buffer {
  const common = { format: 'csv', columns: COLUMNS, escapesFormulas: true, isContinuation: false } as const;
  const encoder = createEncoder({ ...common, ...options });
  const parts = slices.map((items) => encoder.encode(items.map((item) => JSON.stringify(item))));
  return Buffer.concat([...parts, ...encoder.end()]);
}

describe('CSV', () => {
  test('every text that is no formula comes back from a parser as it was, in any slices', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anItem)), (slices) => {
        const text = encoded(slices, { escapesFormulas: false }).toString();
        const records = parse(text, { record_delimiter: '\r\n', relax_column_count: false }) as string[][];
        const fields = slices
          .flat()
          .map(({ text, count, done, at, tags, data }) => [
            text ?? '',
            count === null ? '' : String(count),
            done === null ? '' : String(done),
            at ?? '',
            tags.join(', '),
            data === null || data === undefined ? '' : JSON.stringify(data),
          ]);
        expect(records).toEqual([COLUMNS.map(({ name }) => name), ...fields]);
      }),
      { numRuns: 200 },
    );
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠SUM(A1)', '\t=1', '\r=1'])(
    'a text that begins like a formula is escaped: %j',
    (text) => {
      const item = { text, count: -5, done: true, at: null, tags: [text], data: null };
      const [, record] = parse(encoded([[item]]), { record_delimiter: '\r\n' }) as string[][];
      // Numbers are no formulas.
      expect(record).toEqual([`'${text}`, '-5', 'true', '', `'${text}`, '']);
    },
  );

  test('the only field of a record has quotes when it is empty, because readers skip blank lines', () => {
    const items = [null, '', 'a'].map((text) => ({ text, count: null, done: null, at: null, tags: [], data: null }));
    expect(encoded([items], { columns: COLUMNS.slice(0, 1) }).toString()).toBe('text\r\n""\r\n""\r\na\r\n');
    expect(encoded([items], { columns: COLUMNS.slice(0, 2) }).toString()).toBe('text,count\r\n,\r\n,\r\na,\r\n');
    expect(Buffer.concat([...csvTable(['text'], [{ text: null }], true)]).toString()).toBe('text\r\n""\r\n');
  });

  test('a table comes in small parts, whatever the sizes of its rows, and has every row', () => {
    const rows = Array.from({ length: 900 }, (_, n) => ({ n, text: 'x'.repeat(n < 800 ? 10 : 50_000) }));
    const parts = [...csvTable(['n', 'text'], rows, true)];
    for (const part of parts) expect(part.length).toBeLessThan(310_000);
    const records = parse(Buffer.concat(parts), { columns: true }) as { n: string }[];
    expect(records.map(({ n }) => Number(n))).toEqual(rows.map(({ n }) => n));
  });

  test('a file that continues another has no header', () => {
    expect(encoded([], { isContinuation: true }).toString()).toBe('');
  });

  test.each(['two\nlines', 'two\rlines', 'two\r\nlines', '\n', '\n=1'])(
    'a text with a line break is one field: %j',
    (text) => {
      const item = { text, count: 1, done: true, at: null, tags: [], data: null };
      const records = parse(encoded([[item, item]]), { record_delimiter: ['\r\n', '\n', '\r'] }) as string[][];
      expect(records.map(([field]) => field)).toEqual(['text', text, text]);
    },
  );
});

describe('Parquet', () => {
  const directory = temporaryDirectory('waymark-parquet-');
  afterAll(() => rmSync(directory, { recursive: true }));

  /** The file as ClickHouse reads it. */
  function readBack(bytes: Buffer) {
    const file = join(directory, 'export.parquet');
    writeFileSync(file, bytes);
    const source = `file('${file}', Parquet)`;
    const types = query(`DESCRIBE ${source}`, 'JSONCompactEachRow');
    const rows = query(
      `SELECT text, count, done, formatDateTime(at, '%FT%T.%fZ', 'UTC'), tags, data FROM ${source} SETTINGS max_threads = 1, input_format_parquet_preserve_order = 1`,
      'JSONCompactEachRow',
    );
    const lines = (text: string) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown[]);
    return { types: Object.fromEntries(lines(types).map(([name, type]) => [name, type])), rows: lines(rows) };
  }

  test('a row group of large items is written before it has all the rows that it may have', () => {
    const encoder = createEncoder({
      format: 'parquet',
      columns: COLUMNS,
      escapesFormulas: true,
      isContinuation: false,
    });
    const item = (chars: number) => JSON.stringify({ text: 'x'.repeat(chars), tags: [] });
    const bytesOf = (count: number, chars: number) => encoder.encode(Array(count).fill(item(chars))).length;
    // The first four bytes are those of the format.
    expect(bytesOf(30, 60_000)).toBe(4);
    expect(bytesOf(4, 60_000)).toBeGreaterThan(0);
    expect(bytesOf(100, 10)).toBe(0);
  });

  test('has typed columns and every value, over many row groups', () => {
    const items = fc.sample(anItem, { numRuns: 4500, seed: 1 });
    const slices = Array.from({ length: 45 }, (_, index) => items.slice(index * 100, (index + 1) * 100));
    const { types, rows } = readBack(encoded(slices, { format: 'parquet' }));
    expect(types).toEqual({
      text: 'Nullable(String)',
      count: 'Nullable(Int64)',
      done: 'Nullable(Bool)',
      at: "Nullable(DateTime64(3, 'UTC'))",
      tags: 'Array(String)',
      data: 'Nullable(String)',
    });
    expect(rows).toEqual(
      items.map(({ text, count, done, at, tags, data }) => [
        text,
        count,
        done,
        at === null ? null : at.replace('Z', '000Z'),
        tags,
        data === null ? null : JSON.stringify(data),
      ]),
    );
  });

  test('a file without rows has its columns', () => {
    expect(readBack(encoded([], { format: 'parquet' }))).toMatchObject({
      types: { text: 'Nullable(String)' },
      rows: [],
    });
  });
});
