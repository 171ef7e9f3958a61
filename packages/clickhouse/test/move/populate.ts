import { type ClickHouseClient, migrate } from '../../src/index.js';

const CLICKS = 3_000;

/** Rows in a table of each kind: events of two years, what the views make of them, records with old versions, ties and removals. */
export async function populate(client: ClickHouseClient): Promise<void> {
  await migrate(client);
  const run = (query: string) => client.command({ query });
  await run(`INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, country, city, payload, ip, stored_at)
    SELECT number % 3, toDateTime64('2025-12-31 23:00:00.123', 3, 'UTC') + number * 60, leftPad(toString(number), 16, '0'),
      number % 7, 'FR', concat('a\\tb\\\\c\\n', toString(number % 5)), '{"url":"é\\\\u0000"}', '203.0.113.7', now64(3)
    FROM numbers(${CLICKS})`);
  for (const [table, offset] of [
    ['lead_events', 0],
    ['sale_events', 500],
  ] as const) {
    await run(`INSERT INTO ${table} (workspace_id, timestamp, event_id, customer_id, link_id, metadata_kv)
      SELECT number % 3, toDateTime64('2025-12-31 23:30:00', 3, 'UTC') + number * 600, leftPad(toString(number + ${offset}), 16, '0'),
        number % 11, number % 7, ['plan=it\\'s', concat('n=', toString(number))]
      FROM numbers(400)`);
  }
  for (let part = 0; part < 3; part++) {
    await run(`INSERT INTO links (workspace_id, id, version, deleted, domain, key, data)
      SELECT number % 3, number, ${part}, ${part} = 2 AND number % 10 = 0, 'go.acme.com', concat('k', toString(number)),
        '{"testCompletedAt":"2026-01-01T00:00:00.000Z"}'
      FROM numbers(${300 - part * 50})`);
    await run(`INSERT INTO names (kind, scope, name, id, workspace_id, version, deleted)
      SELECT 'link', 'go.acme.com', concat('né\\t', repeat('x', 300), toString(number)), number, number % 3, ${part}, ${part} = 2 AND number % 10 = 0
      FROM numbers(200)`);
  }
  // Two rows of one version: queries see the one that was inserted last.
  for (const name of ['first', 'second'])
    await run(`INSERT INTO tags (workspace_id, id, version, name) VALUES (1, 1, 1, '${name}')`);
  await run(`INSERT INTO webhook_deliveries (workspace_id, timestamp, event_id, request_body)
    SELECT 1, now64(3) - toIntervalMinute(number), toString(number), repeat('body', 250) FROM numbers(200)`);
  await run(`INSERT INTO ops_samples (time, service, metric, value)
    SELECT now64(3) - toIntervalMinute(intDiv(number, 4)), 'http', 'rss_bytes', number / 3 FROM numbers(400)`);
}

/** Everything that queries can see in a database, table by table. */
export async function contents(client: ClickHouseClient): Promise<Record<string, unknown>> {
  const tables = await client.rows<[string, string]>({
    query: `SELECT name, engine FROM system.tables
      WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND NOT startsWith(name, 'schema_') ORDER BY name`,
  });
  const found: Record<string, unknown> = {};
  for (const [name, engine] of tables) {
    const from = engine === 'MergeTree' ? name : `${name} FINAL`;
    const rows = await client.rows({
      query: `SELECT count(), sum(cityHash64(tuple(*))), groupBitXor(sipHash64(tuple(*))) FROM ${from}`,
    });
    found[name] = rows[0];
  }
  return found;
}

/** The definitions of all tables and views, without the name of the database. */
export async function definitions(client: ClickHouseClient, database: string): Promise<string[]> {
  const rows = await client.rows<[string]>({
    query: `SELECT replaceAll(create_table_query, {name:String}, 'db') FROM system.tables
      WHERE database = currentDatabase() ORDER BY name`,
    parameters: { name: database },
  });
  return rows.map(([definition]) => definition);
}
