import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MIGRATIONS_DIRECTORY, readMigrationFiles } from '../../src/migrations/migration-files.js';
import { renderMigration } from '../../src/migrations/render.js';
import { splitStatements } from '../../src/migrations/split-statements.js';

const cluster = 'my`cluster';

describe('tokens', () => {
  test('one node: tables keep their names and engines', () => {
    expect(
      renderMigration(
        `CREATE TABLE t\${local} \${cluster} ENGINE = \${engine:ReplacingMergeTree(version, deleted)} SETTINGS \${deduplication}`,
        {},
      ),
    ).toBe(
      'CREATE TABLE t  ENGINE = ReplacingMergeTree(version, deleted) SETTINGS non_replicated_deduplication_window = 10000',
    );
    expect(renderMigration(`\${distributed:t:cityHash64(a, b)}`, {})).toBe('');
    expect(renderMigration(`FROM \${nodes:system.parts}`, {})).toBe('FROM system.parts');
  });

  test('a cluster: replicated local tables behind a Distributed one', () => {
    expect(renderMigration(`CREATE TABLE t\${local} \${cluster}`, { cluster })).toBe(
      'CREATE TABLE t_local ON CLUSTER `my\\`cluster`',
    );
    expect(renderMigration(`\${engine:MergeTree}`, { cluster })).toBe(
      "ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')",
    );
    expect(renderMigration(`\${engine:ReplacingMergeTree(version, deleted)}`, { cluster })).toBe(
      "ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', version, deleted)",
    );
    expect(renderMigration(`\${deduplication}`, { cluster })).toBe(
      'replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800',
    );
    expect(renderMigration(`\${distributed:t:cityHash64(a, b)}`, { cluster })).toBe(
      'CREATE TABLE IF NOT EXISTS t ON CLUSTER `my\\`cluster` AS t_local\nENGINE = Distributed(`my\\`cluster`, currentDatabase(), t_local, cityHash64(a, b));',
    );
  });

  test('a cluster: system tables of every node', () => {
    expect(renderMigration(`FROM \${nodes:system.parts}`, { cluster })).toBe(
      'FROM clusterAllReplicas(`my\\`cluster`, system.parts)',
    );
  });

  test('an unknown placeholder is an error', () => {
    expect(() => renderMigration(`\${tabel:t}`, {})).toThrow(`unknown placeholder \${tabel:t}`);
  });
});

describe('statements', () => {
  test('semicolons inside strings, names and comments do not end a statement', () => {
    const file = `-- first; comment
      CREATE TABLE a (\`x;y\` String DEFAULT 'a;\\';''b'); /* ; */
      ;; SELECT "c;d" -- tail;
      ; -- the end`;
    expect(splitStatements(file)).toEqual([
      "-- first; comment\n      CREATE TABLE a (`x;y` String DEFAULT 'a;\\';''b')",
      'SELECT "c;d" -- tail;',
    ]);
  });

  test('statements joined by semicolons are split again, whatever strings they contain', () => {
    const literal = fc
      .string({ unit: fc.constantFrom(';', "'", '\\', '"', '`', '--', '/*', '*/', '\n', 'a') })
      .map((text) => `SELECT '${text.replace(/[\\']/g, '\\$&')}'`);
    fc.assert(
      fc.property(fc.array(literal), (statements) => {
        expect(splitStatements(statements.join(';\n'))).toEqual(statements);
      }),
    );
  });
});

describe('every migration', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  async function statements(target: { cluster?: string }): Promise<string[]> {
    const files = await readMigrationFiles(MIGRATIONS_DIRECTORY);
    return files.flatMap((file) => splitStatements(renderMigration(file.text, target)));
  }

  test('parses as rendered for a cluster, on every node of it', async () => {
    for (const sql of await statements({ cluster: 'waymark' })) {
      const result = await db.client.query({
        query: 'SELECT formatQuery({sql:String}) AS formatted',
        query_params: { sql },
        format: 'JSONEachRow',
      });
      const [row] = await result.json<{ formatted: string }>();
      expect(row?.formatted).toMatch(/ ON CLUSTER waymark\b/);
      expect(sql).not.toMatch(/ENGINE = (?!Replicated|Distributed)/);
    }
  });

  test('may be repeated: each of its statements is idempotent', async () => {
    for (const query of await statements({})) await db.client.command({ query });
  });

  test('has a column list that names every column of the tables without a default', async () => {
    const { EVENT_TABLES, QUEUE_TABLES, STORED_AT } = await import('@waymark/event-format');
    for (const [kind, { table, columns }] of Object.entries(QUEUE_TABLES)) {
      const result = await db.client.query({
        query: `SELECT name FROM system.columns
          WHERE database = currentDatabase() AND table = {table:String} AND default_kind != 'MATERIALIZED'`,
        query_params: { table },
        format: 'JSONEachRow',
      });
      const names = (await result.json<{ name: string }>()).map(({ name }) => name);
      const added = kind in EVENT_TABLES ? [STORED_AT] : [];
      expect(names.sort()).toEqual([...columns[1], ...added].sort());
    }
  });

  test('every target of a view drops repeats', async () => {
    const result = await db.client.query({
      query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND create_table_query LIKE '%Aggregate%'
              AND engine LIKE '%MergeTree' AND create_table_query NOT LIKE '%non_replicated_deduplication_window = 10000%'`,
      format: 'JSONEachRow',
    });
    expect(await result.json()).toEqual([]);
  });
});
