import { readFileSync } from 'node:fs';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { renderMigration } from '../src/migrations/render.js';
import { QUERY_LOG_VIEW } from '../src/query-log-view.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** A query as ClickHouse logs it: with its parameters. */
const LOGGED = `SELECT data FROM customers WHERE workspace_id = _CAST(7, 'UInt64') AND (email = 'ada.lovelace+1@mail.acme.co.uk')
  AND JSONExtractString(data, 'metadata') ILIKE '%{"from":"ada@acme.com","to":"änne@müller.de"}%' AND external_id IN ['crm 4711'] LIMIT 100`;

async function texts(query: string, parameters: Record<string, string> = {}): Promise<string[]> {
  return (await db.client.rows<[string]>({ query, parameters })).map(([text]) => text);
}

it('the view has queries without the values in them', async () => {
  await db.client.command({
    query: `CREATE TABLE logged (event_time DateTime, log_comment String, query_duration_ms UInt64, read_rows UInt64, read_bytes UInt64,
      memory_usage UInt64, exception_code Int32, query String, is_initial_query UInt8, type String) ENGINE = Memory`,
  });
  const line = {
    log_comment: 'GET /events workspace ws_1 request 1 reads events',
    is_initial_query: 1,
    type: 'QueryFinish',
  };
  await db.client.insert({ table: 'logged', values: [{ ...line, query: LOGGED }], format: 'JSONEachRow' });
  await db.client.command({ query: renderMigration(QUERY_LOG_VIEW, {}).replaceAll('system.query_log', 'logged') });
  const [query = ''] = await texts('SELECT query FROM ops_query_log');
  expect(query).toContain('FROM customers WHERE workspace_id = ');
  expect(query).not.toMatch(/lovelace|acme|nne|crm|4711/);
});

/** The rule of the server of `docker-compose.yml`, which ClickHouse applies with the library behind `replaceRegexpAll`. */
function maskingRule(): { readonly pattern: string; readonly replacement: string } {
  const xml = readFileSync(new URL('../../../clickhouse/config/server.xml', import.meta.url), 'utf8');
  const [, rules = ''] = /<query_masking_rules>(.*)<\/query_masking_rules>/s.exec(xml) ?? [];
  const text = (name: string) =>
    new RegExp(`<${name}>(.*)</${name}>`).exec(rules)?.[1]?.replaceAll('&lt;', '<').replaceAll('&gt;', '>') ?? '';
  return { pattern: text('regexp'), replacement: text('replace') };
}

it('the server of docker-compose.yml logs no e-mail addresses', async () => {
  const [masked = ''] = await texts('SELECT replaceRegexpAll({query:String}, {pattern:String}, {replacement:String})', {
    query: LOGGED,
    ...maskingRule(),
  });
  expect(masked).toContain(`(email = '***@***')`);
  expect(masked).toContain(`'%{"from":"***@***","to":"***@***"}%'`);
  expect(masked).not.toMatch(/lovelace|acme|nne/);
});

it('it logs none in the addresses of requests either', async () => {
  const values = { param_email: 'ada.lovelace+1@mail.acme.co.uk', param_search: '{"to":"änne@müller.de"}' };
  const [masked = ''] = await texts('SELECT replaceRegexpAll({query:String}, {pattern:String}, {replacement:String})', {
    query: `Request URI: /?${new URLSearchParams({ ...values, param_workspaceId: '7' }).toString()}`,
    ...maskingRule(),
  });
  expect(masked).toMatch(/param_email=\*\*\*@\*\*\*&param_search=.*&param_workspaceId=7$/);
  expect(masked).not.toMatch(/lovelace|acme|nne|ller/);
});

it('its rule matches nothing in the definitions of tables and views, which ClickHouse shows and sends with it', async () => {
  const definitions = `SELECT create_table_query FROM system.tables WHERE database = currentDatabase()
    UNION ALL SELECT {view:String}`;
  const { pattern } = maskingRule();
  const view = renderMigration(QUERY_LOG_VIEW, { cluster: 'waymark' });
  expect((await texts(definitions, { view })).length).toBeGreaterThan(30);
  const matched = await texts(
    `SELECT create_table_query FROM (${definitions}) WHERE match(create_table_query, {pattern:String})`,
    {
      view,
      pattern,
    },
  );
  expect(pattern).not.toBe('');
  expect(matched).toEqual([]);
});
