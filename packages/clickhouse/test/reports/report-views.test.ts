import { readFileSync } from 'node:fs';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Checks the views for reports and docs/sql.md, except for its examples (services/query/test/reports/examples.test.ts) and its users (dashboard-user.test.ts). */

const PAGE = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
const sections = new Map(
  PAGE.split(/^#{2,3} /m).flatMap((section) => {
    const name = /^`(report_\w+)`\n/.exec(section)?.[1];
    return name === undefined ? [] : [[name, section] as const];
  }),
);
/** Ten seconds apart, of 20 workspaces with 100 links each: a day of a workspace is two granules of its clicks. */
const CLICKS = 120_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  const attributes = "'FR' AS country, 'IDF' AS region, 'https://acme.com/' AS url";
  const at = "toDateTime64('2026-10-01', 3, 'UTC') + number * 10";
  const event = `SELECT 1 + number % 20 AS workspace_id, ${at} AS timestamp, leftPad(toString(number), 16, '0')`;
  await db.client.command({
    query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, country, region, url)
      ${event}, 1 + number % 2000, ${attributes} FROM numbers(${CLICKS})`,
  });
  for (const table of ['lead_events', 'sale_events']) {
    await db.client.command({
      query: `INSERT INTO ${table} (workspace_id, timestamp, event_id, link_id, country, region, url)
        ${event}, 1 + number % 2000, ${attributes} FROM numbers(${CLICKS})`,
    });
  }
  await db.client.command({
    query: `INSERT INTO links (workspace_id, id, version, deleted, domain, key)
      SELECT 1 + number % 20, 1 + number, 1, number % 100 = 3, 'go.acme.com', toString(number) FROM numbers(2000)`,
  });
}, 120_000);
afterAll(() => db.drop());

async function rows<Row>(query: string): Promise<Row[]> {
  return (await db.client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

test('docs/sql.md has every view for reports, and no other', async () => {
  const found = await rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'report\\_%' ORDER BY name",
  );
  expect([...sections.keys()].sort()).toEqual(found.map(({ name }) => name));
});

describe.each([...sections])('%s', (name, section) => {
  test('is documented with its columns, their types and meanings', async () => {
    const columns = await rows<{ name: string; type: string; comment: string }>(
      `SELECT name, type, comment FROM system.columns WHERE database = currentDatabase() AND table = '${name}' ORDER BY position`,
    );
    const documented = [...section.matchAll(/^\| `(\w+)` \| `(.+?)` \| (.+) \|$/gm)];
    expect(documented.map(([, column, type, meaning]) => ({ name: column, type, comment: meaning }))).toEqual(columns);
  });

  test('has the workspace of each row, and neither address nor user agent, nor name or email of a customer', () => {
    const columns = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, column]) => column);
    expect(columns[0]).toBe('workspace_id');
    const personal = [
      'ip',
      'ua',
      'payload',
      'data',
      'email',
      'avatar',
      ...(name === 'report_customers' ? ['name'] : []),
    ];
    expect(columns.filter((column = '') => personal.includes(column))).toEqual([]);
  });
});

/** How many granules of how many a query reads, after the key, and from which table or projection. */
async function readOf(query: string): Promise<{ from: string | undefined; granules: number }> {
  const lines = await rows<{ explain: string }>(`EXPLAIN indexes = 1, projections = 1 ${query}`);
  const plan = lines.map(({ explain }) => explain).join('\n');
  return {
    from: /ReadFromMergeTree \((?:\w+\.)?(\w+)\)/.exec(plan)?.[1],
    granules: Number(/Parts: \d+ \| Granules: (\d+)/.exec(plan)?.[1]),
  };
}

test.each([
  ['report_clicks', 'click_events'],
  ['report_leads', 'lead_events'],
  ['report_sales', 'sale_events'],
])('%s reads no more of its table than a query of the table, by workspace, time and link', async (view, table) => {
  const day = "timestamp >= '2026-10-03' AND timestamp < '2026-10-04'";
  const everything = await readOf(`SELECT country, count() FROM ${view} GROUP BY country`);
  expect(everything.granules).toBeGreaterThan(200);
  for (const [condition, from] of [
    [`workspace_id = 3 AND ${day}`, table],
    ['workspace_id = 3 AND link_id = 3', 'by_link'],
    [`workspace_id = 3 AND link_id = 3 AND ${day}`, table],
    [`workspace_id IN (SELECT workspace_id FROM report_links WHERE link_id = 3) AND ${day}`, table],
  ]) {
    const read = (of: string) => readOf(`SELECT country, count() FROM ${of} WHERE ${condition} GROUP BY country`);
    const ofView = await read(view);
    expect([condition, ofView]).toEqual([condition, await read(table)]);
    expect(ofView.from).toBe(from);
    expect(ofView.granules).toBeLessThan(6);
  }
});

test.each(['report_links', 'report_link_tags', 'report_link_folders'])(
  '%s reads records by their key, too',
  async (view) => {
    const { granules } = await readOf(`SELECT id FROM ${view} WHERE workspace_id = 3 AND link_id = 3`);
    expect(granules).toBe(1);
  },
);

test('events of removed links are in no view', async () => {
  const [counted] = await rows<Record<string, string>>(
    `SELECT (SELECT count() FROM report_clicks) AS clicks, (SELECT count() FROM report_leads) AS leads,
      (SELECT count() FROM report_sales) AS sales, (SELECT sum(clicks) FROM report_link_days) AS of_days,
      (SELECT count() FROM report_links) AS links`,
  );
  const left = String(CLICKS * 0.99);
  expect(counted).toEqual({ clicks: left, leads: left, sales: left, of_days: left, links: '1980' });
});

test('a payload that ClickHouse’s JSON parser refuses has its values in the views', async () => {
  const metadata = '{"wei":120000000000000000000,"note":"},\\"click\\":{\\"id\\":\\"x"}';
  const sale =
    '"sale":{"amount":100,"invoiceId":"a\\",\\"currency\\":\\"x","paymentProcessor":"stripe","currency":"eur"},';
  const payload = (fields: string) => `{"v":1,${fields}"metadata":${metadata},"click":{"id":"0","qr":false}}`;
  for (const [table, text] of [
    ['lead_events', payload('')],
    ['sale_events', payload(sale)],
  ] as const) {
    await db.client.insert({
      table,
      values: [{ workspace_id: '99', timestamp: 1, event_id: '0'.repeat(16), payload: text }],
      format: 'JSONEachRow',
    });
  }
  expect(await rows('SELECT metadata FROM report_leads WHERE workspace_id = 99')).toEqual([{ metadata }]);
  expect(await rows('SELECT currency, payment_processor, metadata FROM report_sales WHERE workspace_id = 99')).toEqual([
    { currency: 'eur', payment_processor: 'stripe', metadata },
  ]);
});
