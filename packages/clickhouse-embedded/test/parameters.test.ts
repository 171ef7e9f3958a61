import type { ClickHouseClient } from '@clickhouse/client';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

let db: TestDatabase;
let client: ClickHouseClient;
beforeAll(async () => {
  db = await createTestDatabase();
  ({ client } = db);
});
afterAll(() => db.drop());

/** Sends a value as a parameter and returns it as the engine prints it in JSON. */
async function arrived(type: string, value: unknown): Promise<unknown> {
  const result = await client.query({
    query: `SELECT {value:${type}} AS value`,
    query_params: { value },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ value: unknown }>();
  return row?.value;
}

// Includes NUL. Lone surrogates are excluded, because they cannot be sent as UTF-8.
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      "'",
      '"',
      '`',
      '\\',
      '\t',
      '\n',
      '\r',
      '\b',
      '\f',
      '%',
      '&',
      '=',
      '+',
      '\\N',
      ';',
      '--',
      '{a:String}',
      '😀',
    ),
  }),
);
const options = { numRuns: 100 };

test('every string arrives unchanged, whatever quotes, escapes or code points it contains', async () => {
  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      expect(await arrived('String', text)).toBe(text);
    }),
    options,
  );
});

test('every array of strings arrives unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { maxLength: 6 }), async (texts) => {
      expect(await arrived('Array(String)', texts)).toEqual(texts);
      expect(await arrived('Array(LowCardinality(String))', texts)).toEqual(texts);
    }),
    options,
  );
});

test('every map of strings arrives unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(anyText, anyText, { noNullPrototype: true, maxKeys: 4 }), async (map) => {
      expect(await arrived('Map(String, String)', map)).toEqual(map);
    }),
    { numRuns: 50 },
  );
});

test('every 64-bit number arrives exactly, as a string', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt(0n, 2n ** 64n - 1n),
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
      async (unsigned, signed) => {
        expect(await arrived('UInt64', unsigned.toString())).toBe(unsigned.toString());
        expect(await arrived('Array(UInt64)', [unsigned])).toEqual([unsigned.toString()]);
        expect(await arrived('Int64', signed)).toBe(signed.toString());
      },
    ),
    { numRuns: 40 },
  );
});

test('null and non-null values of a Nullable are distinguished', async () => {
  expect(await arrived('Nullable(String)', null)).toBe(null);
  expect(await arrived('Nullable(UInt64)', null)).toBe(null);
  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      expect(await arrived('Nullable(String)', text)).toBe(text);
    }),
    { numRuns: 50 },
  );
});

test('every time arrives with millisecond precision', async () => {
  const times = fc.date({ min: new Date('1970-01-02'), max: new Date('2200-01-01'), noInvalidDate: true });
  await fc.assert(
    fc.asyncProperty(times, async (time) => {
      const text = time.toISOString().replace('T', ' ').replace('Z', '');
      expect(await arrived("DateTime64(3, 'UTC')", text)).toBe(time.toISOString());
      expect(await arrived("Array(DateTime64(3, 'UTC'))", [text])).toEqual([time.toISOString()]);
    }),
    { numRuns: 40 },
  );
});

test.each([
  ['LowCardinality(String)', 'FR', 'FR'],
  ['Bool', true, true],
  ['Float64', 1.5, 1.5],
  ['UUID', '018f4d7e-0000-7000-8000-0123456789ab', '018f4d7e-0000-7000-8000-0123456789ab'],
  ['FixedString(16)', 'L1rEaERPoKMKI30k', 'L1rEaERPoKMKI30k'],
  ['Date', '2026-11-21', '2026-11-21'],
  ['Array(Array(String))', [["a'b"], []], [["a'b"], []]],
  ['Array(Nullable(String))', ['a', null], ['a', null]],
  ['Array(String)', [], []],
])('%s arrives', async (type, given, expected) => {
  expect(await arrived(type, given)).toEqual(expected);
});

test('a parameter of type Identifier can only be the name of a table', async () => {
  const result = await client.query({
    query: 'SELECT count() AS n FROM {name:Identifier}',
    query_params: { name: 'click_events' },
    format: 'JSONEachRow',
  });
  expect(await result.json()).toEqual([{ n: '0' }]);
  const attempt = client.query({
    query: 'SELECT count() FROM {name:Identifier}',
    query_params: { name: 'click_events` WHERE 1 = 1 --' },
  });
  await expect(attempt).rejects.toMatchObject({ code: '60' });
});

test('a value that does not match its type is refused, not converted', async () => {
  for (const [type, value] of [
    ['UInt8', '300x'],
    ['UInt64', '-1x'],
    ["DateTime64(3, 'UTC')", '2026-11-21T08:00:00.000Zz'],
    ['Array(String)', 'no list'],
  ] as const) {
    await expect(arrived(type, value)).rejects.toMatchObject({ code: expect.stringMatching(/^\d+$/) });
  }
});

test('every inserted string is stored unchanged, in columns and in arrays', async () => {
  const texts = fc.sample(anyText, 2_000);
  const rows = texts.map((text, n) => [n, text, [text, 'b']]);
  await client.command({
    query: 'CREATE TABLE texts (n UInt32, text String, list Array(String)) ENGINE = MergeTree ORDER BY n',
  });
  await client.insert({ table: 'texts', values: rows, format: 'JSONCompactEachRow' });
  const result = await client.query({ query: 'SELECT * FROM texts ORDER BY n', format: 'JSONCompactEachRow' });
  expect(await result.json()).toEqual(rows);
});
