import { readFileSync } from 'node:fs';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Checks that the pages of clickhouse/, the reference for operators, match the schema. */

const PAGES = ['README.md', 'measurements.md'];
const TEXT = PAGES.map((page) => readFileSync(new URL(`../../../../clickhouse/${page}`, import.meta.url), 'utf8')).join(
  '',
);
/** A view that exists only on servers with a query log. */
const ELSEWHERE = 'ops_query_log';
const sections = new Map(
  TEXT.split(/^### /m)
    .slice(1)
    .map((section) => [/^`(\w+)`/.exec(section)?.[1] ?? '', section] as const),
);

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

async function rows<Row>(query: string): Promise<Row[]> {
  return (await db.client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

it('the section of the query log names the shortest query that the server of docker-compose.yml logs', () => {
  const users = readFileSync(new URL('../../../../clickhouse/config/users.xml', import.meta.url), 'utf8');
  const [, shortestMs] = /<log_queries_min_query_duration_ms>(\d+)</.exec(users) ?? [];
  expect(sections.get(ELSEWHERE)).toContain(`${shortestMs} ms or longer`);
});

it('the pages have every table and view for operators, and no other', async () => {
  const found = await rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'ops\\_%' AND name != 'ops_query_log'",
  );
  expect([...sections.keys()].filter((name) => name !== ELSEWHERE).sort()).toEqual(
    found.map(({ name }) => name).sort(),
  );
});

describe.each([...sections].filter(([name]) => name !== ELSEWHERE))('%s', (name, section) => {
  it('is documented with its columns, their types and meanings', async () => {
    const columns = await rows<{ name: string; type: string; comment: string }>(
      `SELECT name, type, comment FROM system.columns WHERE database = currentDatabase() AND table = '${name}' ORDER BY position`,
    );
    const documented = [...section.matchAll(/^\| `(\w+)` \| `(.+?)` \| (.+) \|$/gm)];
    expect(documented.map(([, column, type, meaning]) => ({ name: column, type, comment: meaning }))).toEqual(columns);
  });

  it('has an example that ClickHouse runs', async () => {
    const [, example] = /```sql\n([\s\S]+?)\n```/.exec(section) ?? [];
    expect(example).toContain(`FROM ${name}`);
    await rows(example ?? '');
  });
});
