import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchWithPassword } from './fetch-with-password.js';

/** The limits of a ClickHouse server on the fields of a URL: a statement that this server takes must be taken by that one, too. */

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

async function answer(fields: readonly (readonly [string, string])[], query: string) {
  const search = new URLSearchParams(fields.map(([name, value]): [string, string] => [`param_${name}`, value]));
  const response = await fetchWithPassword(`${db.url}/?${search}`, { method: 'POST', body: query });
  return { status: response.status, text: await response.text() };
}

describe('a value of a URL', () => {
  const length = (value: string) => answer([['value', value]], 'SELECT length({value:String})');

  test('may have 131,072 bytes', async () => {
    expect(await length('a'.repeat(131_072))).toEqual({ status: 200, text: '131072\n' });
  });

  test.each([
    ['more bytes', 'a'.repeat(131_073)],
    ['more bytes once it is percent-encoded', "'".repeat(43_691)],
  ])('may not have %s', async (_what, value) => {
    const { status, text } = await length(value);
    expect([status, text]).toEqual([
      500,
      expect.stringContaining('Code: 1000. DB::Exception: HTML Form Exception: Field value too long'),
    ]);
  });
});

test('a URL may have 1000 fields', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_none, index) => [`p${index}`, '1'] as const);
  expect((await answer(fields(1000), 'SELECT {p999:UInt8}')).status).toBe(200);
  expect((await answer(fields(1001), 'SELECT {p999:UInt8}')).text).toContain('Too many form fields');
});

test('a request sets a lower memory limit than the default, but no higher one', async () => {
  const limitOf = async (setting: string) => {
    const body = "SELECT getSetting('max_memory_usage')";
    return (await (await fetchWithPassword(`${db.url}/?${setting}`, { method: 'POST', body })).text()).trim();
  };
  const byDefault = await limitOf('');
  expect(Number(byDefault)).toBeGreaterThan(100_000_000);
  expect(await limitOf('max_memory_usage=100000000')).toBe('100000000');
  for (const higher of [`${byDefault}0`, '0']) expect(await limitOf(`max_memory_usage=${higher}`)).toBe(byDefault);
});
