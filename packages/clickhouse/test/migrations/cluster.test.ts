import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bookkeepingTables, moveTables } from '../../src/migrations/bookkeeping.js';
import { MIGRATIONS_DIRECTORY, readMigrationFiles } from '../../src/migrations/migration-files.js';
import { renderMigration } from '../../src/migrations/render.js';
import { splitStatements } from '../../src/migrations/split-statements.js';
import { QUERY_LOG_VIEW } from '../../src/query-log-view.js';

/** Checks the statements for a cluster without having one: they parse, and are consistent with each other. */
const cluster = 'waymark';
let db: TestDatabase;
let statements: readonly string[];

async function asPrinted(sql: string): Promise<string> {
  const result = await db.client.query({
    query: 'SELECT formatQuerySingleLine({sql:String}) AS printed',
    query_params: { sql },
    format: 'JSONEachRow',
  });
  return (await result.json<{ printed: string }>())[0]?.printed ?? '';
}

beforeAll(async () => {
  db = await createTestDatabase();
  const files = await readMigrationFiles(MIGRATIONS_DIRECTORY);
  const rendered = files.flatMap((file) => splitStatements(renderMigration(file.text, { cluster })));
  statements = await Promise.all(rendered.map(asPrinted));
});
afterAll(() => db.drop());

/** The names that match a pattern in the statements. */
const namesIn = (form: RegExp) => statements.flatMap((sql) => [...sql.matchAll(form)].map(([, name = '']) => name));

describe('a cluster', () => {
  test('gets the migration tables, the database and the view of the query log on every node', async () => {
    const others = [
      ...bookkeepingTables({ cluster }),
      ...moveTables({ cluster }),
      renderMigration(QUERY_LOG_VIEW, { cluster }),
      renderMigration(`CREATE DATABASE IF NOT EXISTS waymark \${cluster}`, { cluster }),
    ];
    for (const sql of others) expect(await asPrinted(sql)).toMatch(/ ON CLUSTER waymark\b/);
  });

  test('has a Distributed table for each local table, which is replicated, and for each local view', () => {
    const local = namesIn(/^CREATE (?:TABLE|VIEW) IF NOT EXISTS (\w+)_local /g);
    const distributed = namesIn(
      /^CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER waymark AS \w+_local ENGINE = Distributed/g,
    );
    expect(local.length).toBeGreaterThan(20);
    expect(distributed).toEqual(local);
    for (const sql of statements.filter((text) => /^CREATE TABLE IF NOT EXISTS \w+_local /.test(text))) {
      expect(sql).toMatch(
        /ENGINE = Replicated\w*MergeTree\('\/clickhouse\/tables\/\{uuid\}\/\{shard\}', '\{replica\}'/,
      );
    }
  });

  test('fills each roll-up on the node that stores the rows, from a local table into another; both drop repeats for a week', () => {
    const views = statements.filter((sql) => sql.startsWith('CREATE MATERIALIZED VIEW'));
    expect(views.length).toBeGreaterThan(9);
    const keyOf = (table: string) =>
      statements
        .map((sql) => new RegExp(`Distributed\\(waymark, currentDatabase\\(\\), ${table}, (.*)\\)$`).exec(sql)?.[1])
        .find(Boolean);
    for (const sql of views) {
      const [, target = ''] = / TO (\w+_local) /.exec(sql) ?? [];
      const [, source = ''] = / FROM (\w+_local)\b/.exec(sql) ?? [];
      expect([sql, keyOf(target)]).toEqual([sql, keyOf(source)]);
      for (const table of [source, target]) {
        const made = statements.find((text) => text.startsWith(`CREATE TABLE IF NOT EXISTS ${table} `));
        expect(made).toContain('replicated_deduplication_window_seconds = 604800');
      }
      expect(keyOf(target)).toBe('workspace_id');
    }
  });

  test('reads only local tables in local views, and the Distributed tables in other views that are not materialized', () => {
    for (const sql of statements.filter((text) => text.startsWith('CREATE VIEW'))) {
      const isLocal = /^CREATE VIEW IF NOT EXISTS \w+_local /.test(sql);
      const tables = [...sql.matchAll(/ FROM (\w+)/g)].map(([, table = '']) => table);
      expect([sql, tables.filter((table) => table.endsWith('_local') !== isLocal)]).toEqual([sql, []]);
    }
  });
});
