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

/** Sends values as parameters of one statement and returns them as the engine prints them in JSON. */
async function arrivedAll(type: string, values: readonly unknown[]): Promise<unknown[] | undefined> {
  const columns = values.map((_value, index) => `{value${index}:${type}} AS c${index}`);
  const result = await client.query({
    query: `SELECT ${columns.join(', ')}`,
    query_params: Object.fromEntries(values.map((value, index) => [`value${index}`, value])),
    format: 'JSONCompactEachRow',
  });
  return (await result.json<unknown[]>())[0];
}

async function arrived(type: string, value: unknown): Promise<unknown> {
  return (await arrivedAll(type, [value]))?.[0];
}

/** Ten at a time, because a statement takes much longer than a value. */
const ten = <T>(values: fc.Arbitrary<T>) => fc.array(values, { minLength: 10, maxLength: 10 });

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

test('every string arrives unchanged, whatever quotes, escapes or code points it contains', async () => {
  await fc.assert(
    fc.asyncProperty(ten(anyText), async (texts) => {
      expect(await arrivedAll('String', texts)).toEqual(texts);
    }),
    { numRuns: 10 },
  );
});

test('every array of strings arrives unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(ten(fc.array(anyText, { maxLength: 6 })), async (arrays) => {
      expect(await arrivedAll('Array(String)', arrays)).toEqual(arrays);
      expect(await arrivedAll('Array(LowCardinality(String))', arrays)).toEqual(arrays);
    }),
    { numRuns: 10 },
  );
});

test('every map of strings arrives unchanged', async () => {
  const map = fc.dictionary(anyText, anyText, { noNullPrototype: true, maxKeys: 4 });
  await fc.assert(
    fc.asyncProperty(ten(map), async (maps) => {
      expect(await arrivedAll('Map(String, String)', maps)).toEqual(maps);
    }),
    { numRuns: 5 },
  );
});

test('every 64-bit number arrives exactly, as a string', async () => {
  await fc.assert(
    fc.asyncProperty(
      ten(fc.bigInt(0n, 2n ** 64n - 1n)),
      ten(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
      async (unsigned, signed) => {
        expect(await arrivedAll('UInt64', unsigned.map(String))).toEqual(unsigned.map(String));
        const arrays = await arrivedAll(
          'Array(UInt64)',
          unsigned.map((number) => [number]),
        );
        expect(arrays).toEqual(unsigned.map((number) => [String(number)]));
        expect(await arrivedAll('Int64', signed)).toEqual(signed.map(String));
      },
    ),
    { numRuns: 4 },
  );
});

test('null and non-null values of a Nullable are distinguished', async () => {
  expect(await arrived('Nullable(String)', null)).toBe(null);
  expect(await arrived('Nullable(UInt64)', null)).toBe(null);
  await fc.assert(
    fc.asyncProperty(ten(anyText), async (texts) => {
      expect(await arrivedAll('Nullable(String)', texts)).toEqual(texts);
    }),
    { numRuns: 5 },
  );
});

test('every time arrives with millisecond precision', async () => {
  const times = fc.date({ min: new Date('1970-01-02'), max: new Date('2200-01-01'), noInvalidDate: true });
  await fc.assert(
    fc.asyncProperty(ten(times), async (some) => {
      const isos = some.map((time) => time.toISOString());
      const texts = isos.map((iso) => iso.replace('T', ' ').replace('Z', ''));
      expect(await arrivedAll("DateTime64(3, 'UTC')", texts)).toEqual(isos);
      const arrays = await arrivedAll(
        "Array(DateTime64(3, 'UTC'))",
        texts.map((text) => [text]),
      );
      expect(arrays).toEqual(isos.map((iso) => [iso]));
    }),
    { numRuns: 4 },
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
