import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, startTcpProxy, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createClickHouseClient, migrate, migrationStatus } from '../../src/index.js';
import { runStatements } from '../../src/migrations/apply-file.js';
import { MIGRATIONS_DIRECTORY, readMigrationFiles } from '../../src/migrations/migration-files.js';
import { type SchemaLease, takeSchemaLease, takeSchemaLeaseInTurn } from '../../src/migrations/schema-lease.js';

let db: TestDatabase;
let directory: string;
beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  directory = mkdtempSync(join(tmpdir(), 'waymark-migrations-'));
});
afterEach(async () => {
  await db.drop();
  rmSync(directory, { recursive: true });
});

function file(name: string, sql: string): void {
  writeFileSync(join(directory, name), sql);
}

async function tables(): Promise<string[]> {
  const result = await db.client.query({ query: 'SHOW TABLES', format: 'JSONEachRow' });
  return (await result.json<{ name: string }>()).map(({ name }) => name).filter((name) => !name.startsWith('schema_'));
}

const FIRST = `CREATE TABLE IF NOT EXISTS a (n UInt8) ENGINE = \${engine:MergeTree} ORDER BY n;`;
const SECOND = `CREATE TABLE IF NOT EXISTS b (n UInt8) ENGINE = \${engine:MergeTree} ORDER BY n;
CREATE MATERIALIZED VIEW IF NOT EXISTS b_mv TO b AS SELECT n FROM a;`;

test('the migrations of the repository are applied once, in order, and the database is created', async () => {
  const names = readdirSync(MIGRATIONS_DIRECTORY).filter((name) => name.endsWith('.sql'));
  expect(await migrationStatus(db.client)).toMatchObject(names.map((name) => ({ name, state: 'pending' })));
  expect((await migrate(db.client)).applied).toEqual(names);
  expect(await migrate(db.client)).toEqual({ applied: [], alreadyApplied: names.length });
  const status = await migrationStatus(db.client);
  expect(status.map(({ state }) => state)).toEqual(names.map(() => 'applied'));
  expect(status[0]?.appliedAt).toMatch(/^20\d\d-.*Z$/);
});

test('a file that changed after it was applied is an error that names it, and nothing runs', async () => {
  file('0001_a.sql', FIRST);
  await migrate(db.client, { directory });
  file('0001_a.sql', `${FIRST}\n-- a word more`);
  file('0002_b.sql', SECOND);
  await expect(migrate(db.client, { directory })).rejects.toThrow(
    'migration 0001_a.sql has changed since it was applied',
  );
  expect(await tables()).toEqual(['a']);
  expect((await migrationStatus(db.client, { directory })).map(({ state }) => state)).toEqual(['changed', 'pending']);
});

test('a table of the runner that is missing is created, although every file is applied', async () => {
  file('0001_a.sql', FIRST);
  await migrate(db.client, { directory });
  await db.client.command({ query: 'DROP TABLE schema_migration_leases' });
  expect(await migrate(db.client, { directory })).toEqual({ applied: [], alreadyApplied: 1 });
  await (await takeSchemaLease(db.client, {})).release();
});

test('a renamed file keeps its number and content, so it counts as applied', async () => {
  file('0001_a.sql', FIRST);
  await migrate(db.client, { directory });
  rmSync(join(directory, '0001_a.sql'));
  file('0001_b.sql', FIRST);
  expect(await migrate(db.client, { directory })).toEqual({ applied: [], alreadyApplied: 1 });
});

test('a run after one that ended in the middle of a file repeats that file', async () => {
  file('0001_a.sql', FIRST);
  // The view cannot be created while its source does not exist.
  file('0002_b.sql', SECOND.replace('FROM a', 'FROM later'));
  await expect(migrate(db.client, { directory })).rejects.toThrow('migration 0002_b.sql failed');
  expect(await tables()).toEqual(['a', 'b']);
  await db.client.command({ query: 'CREATE TABLE later (n UInt8) ENGINE = MergeTree ORDER BY n' });
  expect(await migrate(db.client, { directory })).toEqual({ applied: ['0002_b.sql'], alreadyApplied: 1 });
  expect(await tables()).toEqual(['a', 'b', 'b_mv', 'later']);
});

test('no statement of a file is sent once the lease is lost', async () => {
  file('0001_a.sql', FIRST);
  await migrate(db.client, { directory });
  const lost = new Error('lost');
  let checks = 0;
  const lease: SchemaLease = {
    assertHeld() {
      checks += 1;
      if (checks > 1) throw lost;
    },
    release: () => Promise.resolve(),
  };
  file('0002_b.sql', SECOND);
  const [, second] = await readMigrationFiles(directory);
  await expect(runStatements(db.client, second!, { lease })).rejects.toBe(lost);
  expect(await tables()).toEqual(['a', 'b']);
});

test('a statement that fails names its file, and later files are not applied', async () => {
  file('0001_a.sql', FIRST);
  file('0002_b.sql', 'CREATE TABLE broken (n NoSuchType) ENGINE = MergeTree ORDER BY n');
  file('0003_c.sql', SECOND);
  await expect(migrate(db.client, { directory })).rejects.toThrow('migration 0002_b.sql failed');
  expect(await tables()).toEqual(['a']);
});

test('concurrent runners apply every file once', async () => {
  const names = ['0001_a.sql', '0002_b.sql', '0003_c.sql'];
  file(names[0]!, FIRST);
  file(names[1]!, SECOND);
  file(names[2]!, 'ALTER TABLE b ADD COLUMN IF NOT EXISTS m UInt8;');
  const applied: string[] = [];
  const runners = Array.from({ length: 4 }, async () => {
    const client = createClickHouseClient({ url: db.url, database: db.database });
    applied.push(...(await migrate(client, { directory })).applied);
    await client.close();
  });
  await Promise.all(runners);
  expect(applied.sort()).toEqual(names);
});

test('the lease of a killed runner expires; until then no other runner changes the schema', {
  timeout: 40_000,
}, async () => {
  file('0001_a.sql', FIRST);
  await migrate(db.client, { directory });
  file('0002_b.sql', SECOND);
  const start = performance.now();
  // As after a kill: a lease that is not renewed.
  await db.client.command({
    query: "INSERT INTO schema_migration_leases SELECT 'killed', now64(3) + toIntervalSecond(5), 1",
  });
  const running = migrate(db.client, { directory });
  expect(await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1_000, 'waiting'))])).toBe(
    'waiting',
  );
  expect((await running).applied).toEqual(['0002_b.sql']);
  expect(performance.now() - start).toBeGreaterThan(4_990);
});

test('a lease has one holder at a time', async () => {
  await migrate(db.client, { directory });
  let holders = 0;
  let most = 0;
  const work = async () => {
    const lease = await takeSchemaLease(db.client, {});
    holders += 1;
    most = Math.max(most, holders);
    await db.client.command({ query: 'SELECT sleep(0.05)' });
    lease.assertHeld();
    holders -= 1;
    await lease.release();
  };
  await Promise.all([work(), work(), work()]);
  expect([most, holders]).toEqual([1, 0]);
});

test('a lease is lost before another runner may take it, although ClickHouse does not answer its renewals', {
  timeout: 60_000,
}, async () => {
  await migrate(db.client, { directory });
  const url = new URL(db.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const behindProxy = createClickHouseClient({ url: url.href, database: db.database });
  onTestFinished(async () => {
    await proxy.stop();
    await behindProxy.close();
  });
  const lease = await takeSchemaLease(behindProxy, {});
  lease.assertHeld();
  proxy.holdRequests();
  const other = await takeSchemaLease(db.client, {});
  expect(() => lease.assertHeld()).toThrow('the lease on the schema could not be renewed');
  await other.release();
  // The renewals that were held up are carried out.
  proxy.pass();
  await lease.release();
  expect(() => lease.assertHeld()).toThrow('the lease on the schema could not be renewed');
});

test('a lease is taken and released while other inserts into its table wait for their quorum', async () => {
  await migrate(db.client, { directory });
  const refusals: string[] = [];
  const client = new Proxy(db.client, {
    get: (target, name) => {
      const code = name === 'command' ? '286' : '289';
      if ((name !== 'command' && name !== 'rows') || refusals.filter((one) => one === code).length === 2)
        return Reflect.get(target, name).bind(target);
      refusals.push(code);
      return () => Promise.reject(Object.assign(new Error('another insert waits'), { code }));
    },
  });
  for (const take of [
    () => takeSchemaLease(client, {}),
    () => takeSchemaLeaseInTurn(client, {}, { waitMs: 60_000, signal: new AbortController().signal }),
  ]) {
    refusals.length = 0;
    const lease = await take();
    lease?.assertHeld();
    expect(refusals.sort()).toEqual(['286', '286', '289', '289']);
    refusals.length = 0;
    await lease?.release();
    expect(refusals).toEqual(['286', '286']);
  }
});

test('a lease is kept after a renewal that failed', { timeout: 60_000 }, async () => {
  await migrate(db.client, { directory });
  let failures = 0;
  let isFailing = false;
  const client = new Proxy(db.client, {
    get: (target, name) => {
      if (name !== 'command' || !isFailing) return Reflect.get(target, name).bind(target);
      isFailing = false;
      failures += 1;
      return () => Promise.reject(new Error('no connection'));
    },
  });
  const lease = await takeSchemaLease(client, {});
  isFailing = true;
  const renewals = async () => {
    const query = 'SELECT max(version) FROM schema_migration_leases';
    return Number((await db.client.rows<[number]>({ query }))[0]?.[0]);
  };
  const before = await renewals();
  await waitFor(async () => (await renewals()) > before, { what: 'the next renewal', timeoutMs: 30_000 });
  expect(failures).toBe(1);
  lease.assertHeld();
  await lease.release();
});

test('numbers without gaps are required, so that two branches cannot use the same number', async () => {
  file('0001_a.sql', FIRST);
  file('0003_c.sql', SECOND);
  await expect(migrate(db.client, { directory })).rejects.toThrow('migration 0003_c.sql: expected a name of 0002_');
  file('0001_b.sql', SECOND);
  await expect(migrate(db.client, { directory })).rejects.toThrow('0001_b.sql');
});

test('migrations of a newer release are reported as unknown, and not changed', async () => {
  file('0001_a.sql', FIRST);
  file('0002_b.sql', SECOND);
  await migrate(db.client, { directory });
  rmSync(join(directory, '0002_b.sql'));
  expect(await migrate(db.client, { directory })).toEqual({ applied: [], alreadyApplied: 1 });
  expect(await migrationStatus(db.client, { directory })).toMatchObject([
    { name: '0001_a.sql', state: 'applied' },
    { name: '0002_b.sql', state: 'unknown' },
  ]);
});

test('reading the status of a database that does not exist changes nothing', async () => {
  const client = createClickHouseClient({ url: db.url, database: 'no_such_database' });
  expect((await migrationStatus(client)).every(({ state }) => state === 'pending')).toBe(true);
  await client.close();
});
