import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await insertClicks(
    db.client,
    Array.from({ length: 20 }, () => aClick({})),
  );
});
afterAll(() => db.drop());

test.each(['city', 'referer', 'referer_url', 'utm_campaign', 'utm_term', 'utm_content'])(
  'a query for a %s that no click has reads no granule, because of the Bloom filter index',
  async (column) => {
    const result = await db.client.query({
      query: `EXPLAIN indexes = 1 SELECT count() FROM click_events WHERE ${column} IN {values:Array(String)}`,
      query_params: { values: ['nobody has this'] },
      format: 'TabSeparatedRaw',
    });
    const plan = await result.text();
    expect(plan).toMatch(new RegExp(`Name: ${column}_bloom[\\s\\S]*?Granules: 0/`));
  },
);

test('city and referer_url, which have many values, are String and not LowCardinality', async () => {
  const result = await db.client.query({
    query: `SELECT DISTINCT type FROM system.columns
      WHERE database = currentDatabase() AND table IN ('click_events', 'lead_events', 'sale_events')
        AND name IN ('city', 'referer_url')`,
    format: 'TabSeparated',
  });
  expect((await result.text()).trim()).toBe('String');
});
