import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchWithPassword } from './fetch-with-password.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await send('CREATE TABLE counted (n UInt64, text String) ENGINE = MergeTree ORDER BY n');
  await send("INSERT INTO counted SELECT number, 'a\\nb\"}' || toString(number) FROM numbers(100000)");
});
afterAll(() => db.drop());

/** The text of the answer, and the summary in its headers. */
async function send(query: string, members: Record<string, string> = {}) {
  const fields = new URLSearchParams({ database: db.database, ...members });
  const response = await fetchWithPassword(`${db.url}/?${fields}`, { method: 'POST', body: query });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const summary = JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}') as Record<string, string>;
  return { text, summary, format: response.headers.get('x-clickhouse-format') };
}

/** A statement with such a comment has a connection of its own, where the rows are those that the engine gives. */
const onItsOwn = (query: string) => query.replace(/FORMAT \w+$/, '/* */ $&');

test.each([
  ['one row of all', 'SELECT count() FROM counted WHERE n % 3 = 1', 100_000],
  ['no row of all', 'SELECT n FROM counted WHERE n % 3 = 4', 100_000],
  ['many rows', 'SELECT n, text FROM counted ORDER BY n LIMIT 70000', undefined],
  ['strings with line feeds and braces', "SELECT text, [text], n FROM counted WHERE text LIKE 'a%\"}7'", 100_000],
  ['nothing', 'SELECT 1 WHERE 0', undefined],
])(
  'the summary of a read has the number of rows read, and the result is the same as on a connection of its own: %s',
  async (_, select, rows) => {
    const query = `${select} FORMAT JSONCompactEachRow`;
    const read = await send(query);
    expect(read.text).toBe((await send(onItsOwn(query))).text);
    expect(read.format).toBe('JSONCompactEachRow');
    if (rows !== undefined) {
      expect(read.summary.read_rows).toBe(String(rows));
      expect(Number(read.summary.read_bytes)).toBeGreaterThanOrEqual(8 * rows);
    }
  },
);

test('what was read is left out of the summary where the engine does not report it', async () => {
  for (const query of ['SELECT n FROM counted LIMIT 2 FORMAT TSV', 'INSERT INTO counted SELECT 1, 2 WHERE 0']) {
    const { summary } = await send(query);
    expect(summary).not.toHaveProperty('read_rows');
    expect(summary).not.toHaveProperty('read_bytes');
  }
});

test('totals and extremes are the same as on a connection of its own', async () => {
  const totals =
    'SELECT n % 2 AS odd, count() FROM counted GROUP BY odd WITH TOTALS ORDER BY odd FORMAT JSONCompactEachRow';
  expect((await send(totals)).text).toBe((await send(onItsOwn(totals))).text);
  const extremes = 'SELECT n FROM counted ORDER BY n LIMIT 2 FORMAT JSONCompactEachRow';
  const settings = { extremes: '1' };
  expect((await send(extremes, settings)).text).toBe((await send(onItsOwn(extremes), settings)).text);
});
