import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchWithPassword } from './fetch-with-password.js';

/** A client that has the password can read and write tables, but can access no files, programs or network addresses. */

const SECRET = 'content-of-the-secret-file';

let db: TestDatabase;
let directory: string;
let listener: Server;
let connections = 0;
let host: string;

beforeAll(async () => {
  db = await createTestDatabase({ migrated: false });
  directory = mkdtempSync(join(tmpdir(), 'waymark-external-'));
  writeFileSync(join(directory, 'secret'), `${SECRET}\n`);
  listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  await fetchWithPassword(db.url, { method: 'POST', body: `CREATE DATABASE ${db.database}` });
  await run('CREATE TABLE texts (a String) ENGINE = MergeTree ORDER BY a');
  await run("INSERT INTO texts VALUES ('x'), ('file(1)')");
});
afterAll(async () => {
  listener.close();
  rmSync(directory, { recursive: true, force: true });
  await db.drop();
});

/** Replaces DIR and HOST in a statement by the test's directory and listener. */
function replacePlaceholders(sql: string): string {
  return sql.replaceAll('DIR', directory).replaceAll('HOST', host);
}

async function run(sql: string, settings: Record<string, string> = {}) {
  const search = new URLSearchParams({ database: db.database, ...settings });
  const answer = await fetchWithPassword(`${db.url}/?${search}`, { method: 'POST', body: replacePlaceholders(sql) });
  return { status: answer.status, text: await answer.text() };
}

/**
 * Expects that a statement is refused, and that no file was read or written and no address connected to. A read is also sent with
 * its format, as clients do: such reads share connections.
 *
 * @param error a part of the message
 */
async function expectRefused(sql: string, settings: Record<string, string> = {}, error = ''): Promise<void> {
  const isRead = /^(?:SELECT|WITH)\b/i.test(sql) && !/\bFORMAT\b/i.test(sql);
  for (const variant of isRead ? [sql, `${sql} FORMAT TSV`] : [sql]) {
    const { status, text } = await run(variant, settings);
    expect(status, text).not.toBe(200);
    expect(text).not.toContain(SECRET);
    expect(text).toContain(error);
  }
  expect(readdirSync(directory)).toEqual(['secret']);
  expect(connections).toBe(0);
}

const SOURCES = [
  "file('DIR/secret', 'LineAsString')",
  "file('DIR/secret', 'LineAsString', 'a String')",
  "fileCluster('default', 'DIR/secret', 'LineAsString', 'a String')",
  "filesystem('DIR')",
  "url('http://HOST/', 'LineAsString', 'a String')",
  "urlCluster('default', 'http://HOST/', 'LineAsString', 'a String')",
  "s3('http://HOST/bucket/key', 'LineAsString', 'a String')",
  "s3Cluster('default', 'http://HOST/bucket/key', 'LineAsString', 'a String')",
  "gcs('http://HOST/bucket/key', 'LineAsString', 'a String')",
  "oss('http://HOST/bucket/key', 'LineAsString', 'a String')",
  "cosn('http://HOST/bucket/key', 'LineAsString', 'a String')",
  "remote('HOST', 'system', 'one')",
  "remoteSecure('HOST', 'system', 'one')",
  "cluster('default', 'system', 'one')",
  "clusterAllReplicas('default', 'system', 'one')",
  "mysql('HOST', 'd', 't', 'u', 'p')",
  "postgresql('HOST', 'd', 't', 'u', 'p')",
  "mongodb('HOST', 'd', 't', 'u', 'p', 'a String')",
  "redis('HOST', 'k', 'k String, v String')",
  "sqlite('DIR/secret', 't')",
  "jdbc('jdbc:x://HOST', 'd', 't')",
  "odbc('DSN=x', 'd', 't')",
  "hdfs('hdfs://HOST/x', 'LineAsString', 'a String')",
  "hdfsCluster('default', 'hdfs://HOST/x', 'LineAsString', 'a String')",
  "azureBlobStorage('http://HOST/a', 'c', 'p', 'a', 'Zm9v', 'LineAsString', 'auto', 'a String')",
  "azureBlobStorageCluster('default', 'http://HOST/a', 'c', 'p', 'a', 'Zm9v', 'LineAsString', 'auto', 'a String')",
  "deltaLake('http://HOST/bucket/')",
  "deltaLakeLocal('DIR')",
  "deltaLakeAzure('http://HOST/a', 'c', 'p', 'a', 'Zm9v')",
  "iceberg('http://HOST/bucket/')",
  "icebergLocal('DIR')",
  "icebergHDFS('hdfs://HOST/x')",
  "icebergAzure('http://HOST/a', 'c', 'p', 'a', 'Zm9v')",
  "hudi('http://HOST/bucket/')",
  "paimon('http://HOST/bucket/')",
  "paimonLocal('DIR')",
  "ytsaurus('http://HOST', '//x', 'u', 'a String')",
  "executable('secret', 'LineAsString', 'a String')",
  "arrowstream('DIR/secret')",
  "dictionary('d')",
  "loop(file('DIR/secret', 'LineAsString'))",
  "view(SELECT * FROM file('DIR/secret', 'LineAsString'))",
  "eval($$SELECT file('DIR/secret')$$)",
  "'DIR/secret'",
  '`DIR/secret`',
];

describe.concurrent.each(SOURCES)('%s cannot be a source', (source) => {
  test.each([
    `SELECT * FROM ${source}`,
    `DESCRIBE TABLE ${source}`,
    `SELECT * FROM texts WHERE a IN (SELECT * FROM ${source})`,
    `WITH s AS (SELECT * FROM ${source}) SELECT * FROM s`,
    `INSERT INTO texts SELECT * FROM ${source}`,
    `CREATE TABLE copied ENGINE = Memory AS SELECT * FROM ${source}`,
  ])('%s', (sql) => expectRefused(sql));

  test.skipIf(!/^\w+\(/.test(source))('is no target of an INSERT and no part of a table definition', async () => {
    await expectRefused(`INSERT INTO FUNCTION ${source} SELECT 'x'`);
    await expectRefused(`CREATE TABLE defined AS ${source}`);
  });
});

const ENGINES = [
  "File(LineAsString, 'DIR/secret')",
  'File(LineAsString)',
  "URL('http://HOST/', LineAsString)",
  "S3('http://HOST/bucket/key', 'LineAsString')",
  "S3Queue('http://HOST/bucket/*', 'LineAsString') SETTINGS mode = 'unordered'",
  "AzureBlobStorage('http://HOST/a', 'c', 'p')",
  "MySQL('HOST', 'd', 't', 'u', 'p')",
  "PostgreSQL('HOST', 'd', 't', 'u', 'p')",
  "MongoDB('HOST', 'd', 't', 'u', 'p')",
  "Redis('HOST') PRIMARY KEY a",
  "SQLite('DIR/secret', 't')",
  "ODBC('DSN=x', 'd', 't')",
  "JDBC('jdbc:x://HOST', 'd', 't')",
  "HDFS('hdfs://HOST/x', 'LineAsString')",
  "Kafka('HOST', 't', 'g', 'LineAsString')",
  "DeltaLake('http://HOST/bucket/')",
  "DeltaLakeLocal('DIR')",
  "Iceberg('http://HOST/bucket/')",
  "IcebergLocal('DIR')",
  "Hudi('http://HOST/bucket/')",
  "PaimonLocal('DIR')",
  "YTsaurus('http://HOST', '//x', 'u')",
  "FileLog('DIR', 'LineAsString')",
  "EmbeddedRocksDB(0, 'DIR/rocks') PRIMARY KEY a",
  "Executable('secret', LineAsString)",
  "ExecutablePool('secret', LineAsString)",
  'Distributed(default, system, one)',
  "Remote('HOST', 'system', 'one')",
  "RemoteSecure('HOST', 'system', 'one')",
  'Dictionary(d)',
  "MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = 'DIR/disk/')",
  "MergeTree ORDER BY a SETTINGS disk = disk(type = object_storage, object_storage_type = web, endpoint = 'http://HOST/')",
  "MergeTree ORDER BY a SETTINGS disk = disk(type = s3, endpoint = 'http://HOST/bucket/')",
  "MergeTree ORDER BY a SETTINGS storage_policy = 'other'",
];

test.each(ENGINES)('no table can be created with the engine %s', async (engine) => {
  await expectRefused(`CREATE TABLE made (a String) ENGINE = ${engine}`);
  await expectRefused(`CREATE TEMPORARY TABLE made (a String) ENGINE = ${engine}`);
  await expectRefused(`ATTACH TABLE made UUID '${crypto.randomUUID()}' (a String) ENGINE = ${engine}`);
  await expectRefused(`CREATE MATERIALIZED VIEW made ENGINE = ${engine} AS SELECT a FROM texts`);
});

test.each([
  "Filesystem('DIR')",
  "SQLite('DIR/secret')",
  "MySQL('HOST', 'd', 'u', 'p')",
  "MaterializedMySQL('HOST', 'd', 'u', 'p')",
  "PostgreSQL('HOST', 'd', 'u', 'p')",
  "MaterializedPostgreSQL('HOST', 'd', 'u', 'p')",
  "S3('http://HOST/bucket')",
  "HDFS('hdfs://HOST')",
  "Backup('default', File('DIR/secret'))",
  "DataLakeCatalog('http://HOST') SETTINGS warehouse = 'x', catalog_type = 'rest', allow_database_iceberg = 1",
  'Dictionary',
  "Replicated('/x', 'a', 'b')",
])('no database can be created with the engine %s', (engine) =>
  expectRefused(`CREATE DATABASE made_outside ENGINE = ${engine}`),
);

test.each([
  "FILE(path 'DIR/secret' format 'LineAsString')",
  "HTTP(url 'http://HOST/' format 'LineAsString')",
  "EXECUTABLE(command 'cat DIR/secret' format 'LineAsString')",
  "CLICKHOUSE(host '127.0.0.1' port 1 table 'x')",
  "MYSQL(host '127.0.0.1' port 1 user 'u' password 'p' db 'd' table 't')",
  "POSTGRESQL(host '127.0.0.1' port 1 user 'u' password 'p' db 'd' table 't')",
  "MONGODB(host '127.0.0.1' port 1 user '' password '' db 'd' collection 't')",
  "REDIS(host '127.0.0.1' port 1)",
  "ODBC(connection_string 'DSN=x' table 't')",
  "LIBRARY(path 'DIR/secret')",
  'NULL()',
])('no dictionary can be created with the source %s', (source) =>
  expectRefused(
    `CREATE DICTIONARY made (k UInt64, a String) PRIMARY KEY k SOURCE(${source}) LAYOUT(FLAT()) LIFETIME(0)`,
  ),
);

test.each([
  "SELECT file('DIR/secret')",
  'SELECT "file"(\'DIR/secret\')',
  "SELECT `fi\\x6ce`('DIR/secret')",
  "SELECT `\\x66ile`('DIR/secret')",
  "SELECT/**/file/**/('DIR/secret')",
  "SELECT ['DIR/secret'] AS names, arrayMap(name -> file(name), names)",
  "SELECT * APPLY(file) FROM (SELECT 'DIR/secret')",
  "SELECT 1 WHERE file('DIR/secret') LIKE 'c%'",
  "SELECT '\\'', file('DIR/secret'), '\\''",
  "SELECT 'a''', file('DIR/secret')",
  "SELECT $x$'$x$, file('DIR/secret')",
  "SELECT /* ' */ file('DIR/secret') /* ' */",
  "SELECT 1 -- '\n, file('DIR/secret') -- '",
  "SELECT 1 AS `'`, file('DIR/secret') AS `'`",
  "EXPLAIN SELECT file('DIR/secret')",
  "CREATE VIEW seen AS SELECT file('DIR/secret')",
  "CREATE TABLE seen (a String, b String DEFAULT file('DIR/secret')) ENGINE = Memory",
  "ALTER TABLE texts ADD COLUMN b String DEFAULT file('DIR/secret')",
  "ALTER TABLE texts UPDATE a = file('DIR/secret') WHERE 1",
  "DELETE FROM texts WHERE file('DIR/secret') = ''",
  "INSERT INTO texts VALUES (file('DIR/secret'))",
  "INSERT INTO texts SELECT * FROM format(Values, 'a String', $$(file('DIR/secret'))$$)",
  "INSERT INTO texts FROM INFILE 'DIR/secret' FORMAT LineAsString",
  "SELECT 1 INTO OUTFILE 'DIR/out' FORMAT TSV",
  "SELECT 1 INTO/**/OUTFILE 'DIR/out' TRUNCATE FORMAT TSV",
  "BACKUP TABLE texts TO File('DIR/backup')",
  "BACKUP TABLE texts TO Disk('default', 'backup')",
  "BACKUP TABLE texts TO S3('http://HOST/bucket/x', 'a', 'b')",
  "RESTORE TABLE texts FROM File('DIR/secret')",
  "RESTORE ALL FROM S3('http://HOST/bucket/x', 'a', 'b')",
  "ALTER TABLE texts MODIFY SETTING disk = disk(type = local, path = 'DIR/disk/')",
  "ALTER TABLE texts FETCH PARTITION tuple() FROM '/x'",
  "ATTACH TABLE made FROM 'DIR' (a String) ENGINE = MergeTree ORDER BY a",
  'CREATE FUNCTION reader AS (x) -> file(x)',
  'CREATE FUNCTION reader AS (x) -> x',
  "CREATE NAMED COLLECTION outside AS url = 'http://HOST/'",
  'CREATE USER outsider',
  'CREATE ROLE outsider',
  'GRANT ALL ON *.* TO default',
  'GRANT READ ON FILE TO default',
  "ALTER USER default IDENTIFIED BY 'x'",
  'SYSTEM SHUTDOWN',
  'SYSTEM RELOAD USERS',
  'SYSTEM FLUSH LOGS',
  "SELECT catboostEvaluate('DIR/secret', 1)",
  "SELECT aiGenerate('x')",
  'SELECT * FROM system.users',
])('%s is refused', (sql) => expectRefused(sql));

test('a statement that starts in the URL and continues in the body is checked as a whole', async () => {
  for (const [query, body] of [
    ['SELECT', "file('DIR/secret')"],
    ['SELECT fi', "le('DIR/secret')"],
    ['INSERT INTO texts', "SELECT file('DIR/secret')"],
    ['INSERT INTO texts -- FORMAT TSV', "SELECT file('DIR/secret')"],
    ['INSERT INTO texts FROM', "INFILE 'DIR/secret' FORMAT LineAsString"],
    ['INSERT INTO texts FORMAT Values', "(file('DIR/secret'))"],
  ] as const) {
    const answer = await fetchWithPassword(`${db.url}/?${new URLSearchParams({ database: db.database, query })}`, {
      method: 'POST',
      body: replacePlaceholders(body),
    });
    expect([query, answer.status]).not.toEqual([query, 200]);
    expect(await answer.text()).not.toContain(SECRET);
  }
  expect((await run('SELECT groupArray(a) FROM texts')).text).not.toContain(SECRET);
});

/** What the engine says about a setting that may not be changed. */
const LOCKED = 'Code: 452.';

describe.each([
  ['format_template_row', 'DIR/secret', 'SELECT 1 AS a FORMAT Template'],
  ['format_template_resultset', 'DIR/secret', 'SELECT 1 AS a FORMAT Template'],
  ['format_schema', 'DIR/secret:X', 'SELECT 1 AS a FORMAT Protobuf'],
  ['format_schema_source', 'query', 'SELECT 1 AS a FORMAT Protobuf'],
  ['format_avro_schema_registry_url', 'http://HOST/', "SELECT * FROM format(AvroConfluent, 'a String', 'x')"],
  ['additional_result_filter', "file(\\'DIR/secret\\') = \\'\\'", 'SELECT 1 AS a'],
  ['additional_table_filters', "{\\'texts\\': \\'file(1) = 1\\'}", 'SELECT a FROM texts'],
  ['input_format_values_interpret_expressions', '1', 'INSERT INTO texts VALUES (1)'],
  ['input_format_record_errors_file_path', 'DIR/errors', 'SELECT 1 AS a'],
  ['dialect', 'kusto', 'SELECT 1 AS a'],
  ['allow_experimental_eval_table_function', '1', 'SELECT 1 AS a'],
  ['implicit_table_at_top_level', 'DIR/secret', 'SELECT 1 AS a'],
  ['ai_function_embedding_default_credentials', 'x', 'SELECT 1 AS a'],
  ['ai_function_text_default_credentials', 'x', 'SELECT 1 AS a'],
  ['cluster_for_parallel_replicas', 'x', 'SELECT 1 AS a'],
  ['filesystem_cache_name', 'x', 'SELECT 1 AS a'],
  ['format_schema_message_name', 'x', 'SELECT 1 AS a'],
  ['format_template_resultset_format', 'x', 'SELECT 1 AS a'],
  ['format_template_row_format', 'x', 'SELECT 1 AS a'],
  ['input_format_values_deduce_templates_of_expressions', '1', 'SELECT 1 AS a'],
  ['output_format_schema', 'DIR/schema', 'SELECT 1 AS a'],
  ['parallel_replicas_custom_key', 'a', 'SELECT 1 AS a'],
  ['polyglot_dialect', 'x', 'SELECT 1 AS a'],
  ['rename_files_after_processing', 'x', 'SELECT 1 AS a'],
  ['url_base', 'http://HOST/', 'SELECT 1 AS a'],
])('the setting %s cannot be changed', (name, value, sql) => {
  test('in the URL', () => expectRefused(sql, { [name]: replacePlaceholders(value).replaceAll('\\', '') }, LOCKED));
  test('with SET', () => expectRefused(`SET ${name} = '${value}'`, {}, LOCKED));
  test('with the SETTINGS clause of a statement', () =>
    expectRefused(sql.replace(/( FORMAT \w+| VALUES .*)?$/, ` SETTINGS ${name} = '${value}'$1`), {}, LOCKED));
});

test.each([
  ['disk', "'default'"],
  ['storage_policy', "'other'"],
])('the setting %s of tables cannot be changed to %s', async (name, value) => {
  const settings = `SETTINGS ${name} = ${value}`;
  await expectRefused(`CREATE TABLE made (a String) ENGINE = MergeTree ORDER BY a ${settings}`, {}, LOCKED);
  await expectRefused(`ALTER TABLE texts MODIFY ${settings.replace('SETTINGS', 'SETTING')}`, {}, LOCKED);
});

test.each([
  ["SELECT 'file(1)', 'INTO OUTFILE', $$FROM INFILE$$", 'file(1)\tINTO OUTFILE\tFROM INFILE\n'],
  ["SELECT a FROM texts WHERE a = 'file(1)'", 'file(1)\n'],
  ['SELECT 1 AS profile, 2 AS `disk`', '1\t2\n'],
  ["SELECT 'it''s \\\\ a \\' backslash'", "it\\'s \\\\ a \\' backslash\n"],
])('a string or name that only looks like a forbidden expression is allowed: %s', async (sql, answer) => {
  expect(await run(sql)).toEqual({ status: 200, text: answer });
});

test('rows with such strings are stored', async () => {
  const search = new URLSearchParams({ database: db.database, query: 'INSERT INTO texts FORMAT JSONEachRow' });
  const body = JSON.stringify({ a: "file('x') INTO OUTFILE disk(\\" });
  expect((await fetchWithPassword(`${db.url}/?${search}`, { method: 'POST', body })).status).toBe(200);
  expect((await run("SELECT count() FROM texts WHERE a LIKE 'file(%disk(%'")).text).toBe('1\n');
});

test('the refused statements have left nothing in the database or on disk', async () => {
  expect(
    (await run('SELECT count() FROM texts WHERE position(a, {secret:String}) > 0', { param_secret: SECRET })).text,
  ).toBe('0\n');
  expect((await run('SHOW TABLES')).text).toBe('texts\n');
  expect(existsSync(join(directory, 'out'))).toBe(false);
});
