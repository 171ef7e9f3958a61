import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type EngineSession,
  type EngineUser,
  makeMigratedStore,
  startEngineAs,
  temporaryDirectory,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocumentedUsers } from './documented-users.js';
import { conditionsOn, isLeak, writeTenants } from './tenants.js';

/**
 * Whether the user of a dashboard for one workspace, made as docs/sql.md says, can read anything else. The engine takes users from a file
 * only, so their statements become such a file; a policy on `waymark.*` becomes one on each table.
 */

const ADMIN: EngineUser = { name: 'admin', grants: [], settings: {}, filters: {} };
/** A definer without a policy, whose views have a condition instead. */
const UNPROTECTED: EngineUser = { name: 'unprotected', grants: ['SELECT ON waymark.*'], settings: {}, filters: {} };
/** ClickHouse checks neither `readonly` nor constraints in a subquery. */
const ANY_ORDER =
  "enable_multiple_prewhere_read_steps = 0, short_circuit_function_evaluation = 'disable', optimize_move_to_prewhere_if_final = 1";
const SETTINGS = ['', ` SETTINGS ${ANY_ORDER}`, ` SETTINGS ${ANY_ORDER}, use_primary_key = 0`];

const documented = readDocumentedUsers();
/** The views that the page makes. */
const made = documented.statements.flatMap(
  (statement) => /^CREATE VIEW acme_reports\.(\w+) /.exec(statement)?.[1] ?? [],
);
const directory = temporaryDirectory('waymark-dashboard-');
const dataDir = join(directory, 'store');
let views: string[];
let acme: EngineSession;

const namesOf = async (engine: EngineSession, condition: string) =>
  (await engine.run(`SELECT name FROM system.tables WHERE ${condition} ORDER BY name`)).trimEnd().split('\n');

beforeAll(async () => {
  await makeMigratedStore(dataDir);
  const definers = documented.users.map((user) => ({ ...user, filters: {} }));
  const admin = await startEngineAs(dataDir, ADMIN, [...definers, UNPROTECTED]);
  await writeTenants(admin);
  views = await namesOf(admin, "database = 'waymark' AND startsWith(name, 'report_')");
  for (const statement of documented.statements) await admin.run(statement);
  await admin.run('CREATE DATABASE unprotected_reports');
  for (const view of views)
    await admin.run(
      `CREATE VIEW unprotected_reports.${view} DEFINER = unprotected SQL SECURITY DEFINER AS SELECT * FROM waymark.${view} WHERE workspace_id = 7`,
    );
  // What a later release could add.
  await admin.run(
    'CREATE TABLE waymark.later (workspace_id UInt64, text String) ENGINE = MergeTree ORDER BY workspace_id',
  );
  await admin.run("INSERT INTO waymark.later VALUES (7, 'own'), (8, 'other')");
  await admin.run('CREATE TABLE waymark.unplaced (text String) ENGINE = MergeTree ORDER BY text');
  for (const table of ['later', 'unplaced'])
    await admin.run(
      `CREATE VIEW acme_reports.${table} DEFINER = acme_views SQL SECURITY DEFINER AS SELECT * FROM waymark.${table}`,
    );
  const tables = await namesOf(admin, "database = 'waymark'");
  await admin.stop();

  const [caller, ...others] = documented.users
    .map(({ grants, ...user }) => {
      const policy = documented.policies.get(user.name);
      return {
        ...user,
        grants: user.name === 'acme' ? [...grants, 'SELECT ON unprotected_reports.*'] : grants,
        filters: policy === undefined ? {} : Object.fromEntries(tables.map((table) => [`waymark.${table}`, policy])),
      };
    })
    .sort((a, b) => Number(b.name === 'acme') - Number(a.name === 'acme'));
  if (caller?.name !== 'acme') throw new Error('the page makes no user acme');
  acme = await startEngineAs(dataDir, caller, [...others, UNPROTECTED]);
}, 120_000);
afterAll(async () => {
  await acme?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const errorOf = async (sql: string) =>
  acme.run(sql).then(
    () => '',
    (err: unknown) => String(err),
  );

/** The first query that finds something of another workspace in a view. */
async function findLeak(view: string): Promise<string | undefined> {
  for (const condition of await conditionsOn(acme, view)) {
    for (const settings of SETTINGS) {
      const query = `SELECT * FROM (SELECT count() FROM ${view} WHERE ${condition}${settings})`;
      if (isLeak(await errorOf(query))) return query;
    }
  }
  return undefined;
}

test('the page makes each view, and this test covers all of its statements', () => {
  expect(made).toEqual(views);
  expect(documented.statements).toHaveLength(1 + views.length);
  expect(documented.users.map(({ name, grants }) => [name, grants])).toEqual([
    ['acme_views', ['SELECT ON waymark.*']],
    ['acme', ['SELECT ON acme_reports.*']],
  ]);
  expect([...documented.policies]).toEqual([['acme_views', 'workspace_id = 7']]);
});

test('every view has the rows of the workspace, and no others', async () => {
  for (const view of views) {
    const counted = await acme.run(`SELECT count() > 0, groupUniqArray(workspace_id) FROM acme_reports.${view}`);
    expect([view, counted.trim()]).toEqual([view, '1\t[7]']);
  }
  // Events of removed links are left out, as in the view for everybody.
  expect(await acme.run('SELECT count() FROM acme_reports.report_clicks')).toBe('1800\n');
});

test.each(made)(
  'a condition on %s is evaluated on no row of another workspace, whatever a subquery sets',
  async (view) => {
    expect(await findLeak(`acme_reports.${view}`)).toBeUndefined();
  },
);

test.each(['report_clicks', 'report_leads', 'report_sales', 'report_link_days', 'report_links'])(
  'the same conditions on %s with WHERE in place of the policy read other workspaces',
  async (view) => {
    expect(await findLeak(`unprotected_reports.${view}`)).toBeDefined();
  },
);

test('each table is read with the policy as a filter of its own, and by its key', async () => {
  const plan = (query: string) => acme.run(`EXPLAIN actions = 1, indexes = 1 ${query}`);
  const count = (text: string, what: RegExp) => [...text.matchAll(what)].length;
  for (const view of views) {
    const columns = await acme.run(
      `SELECT name FROM system.columns WHERE database = 'acme_reports' AND table = '${view}'`,
    );
    const byLink = columns.split('\n').includes('link_id')
      ? ['WHERE link_id = 7000003', 'WHERE link_id = 7000003 SETTINGS optimize_use_projections = 1']
      : [];
    for (const rest of ['', ...byLink]) {
      const read = await plan(`SELECT * FROM (SELECT * FROM acme_reports.${view} ${rest})`);
      expect(count(read, /ReadFromMergeTree/g)).toBeGreaterThan(0);
      expect(count(read, /Row level filter column: +workspace_id = 7\b/g)).toBe(count(read, /ReadFromMergeTree/g));
    }
  }
  const day = "timestamp >= '2026-10-01 01:00:00' AND timestamp < '2026-10-01 02:00:00'";
  const [, granules] =
    /Parts: \d+ \| Granules: (\d+)/.exec(await plan(`SELECT count() FROM acme_reports.report_clicks WHERE ${day}`)) ??
    [];
  expect(Number(granules)).toBeLessThan(6);
});

describe('settings', () => {
  test('cannot be changed by a query', async () => {
    for (const setting of [
      'use_primary_key = 0',
      'optimize_use_projections = 1',
      "additional_table_filters = {'a': '1'}",
    ]) {
      expect(await errorOf(`SET ${setting}`)).toContain('(READONLY)');
      expect(await errorOf(`SELECT 1 SETTINGS ${setting}`)).toContain('(READONLY)');
    }
  });

  test('in a subquery do not reach columns that a view lacks', async () => {
    const filter = "additional_table_filters = {'waymark.click_events': 'toUInt64(ip) = 0'}";
    const query = (database: string) =>
      `SELECT * FROM (SELECT count() FROM ${database}.report_clicks SETTINGS ${filter})`;
    expect(await acme.run(query('acme_reports'))).toBe('1800\n');
    expect(await errorOf(query('unprotected_reports'))).toContain("Cannot parse string 'own");
  });
});

test('only these views can be read, and nothing can be created or dropped', async () => {
  const refused = [
    'SELECT * FROM waymark.click_events',
    'SELECT * FROM waymark.report_clicks',
    'SELECT * FROM waymark.api_keys',
    'SHOW CREATE TABLE waymark.links',
    'SELECT * FROM system.users',
    'SELECT * FROM system.row_policies',
    "SELECT * FROM url('http://127.0.0.1/', 'LineAsString')",
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1', 'waymark', 'links')",
    'CREATE TEMPORARY TABLE t (a Int8)',
    'CREATE VIEW acme_reports.v DEFINER = acme_views SQL SECURITY DEFINER AS SELECT * FROM waymark.api_keys',
    'DROP VIEW acme_reports.report_clicks',
    'CREATE USER other',
  ];
  for (const query of refused)
    expect([query, await errorOf(query)]).toEqual([query, expect.stringMatching(/\((?:ACCESS_DENIED|READONLY)\)/)]);
  expect(await errorOf("SELECT * FROM merge('waymark', '.*')")).toContain('no tables');
  const seen = 'SELECT DISTINCT database FROM system.tables ORDER BY database';
  expect(await acme.run(seen)).toBe('acme_reports\nunprotected_reports\n');
  for (const table of ['parts', "columns WHERE database = 'waymark'", 'mutations', 'dictionaries'])
    expect(await acme.run(`SELECT count() FROM system.${table}`)).toBe('0\n');
});

test('a table of a later release has the policy, too; one without the column of the policy cannot be read', async () => {
  expect(await acme.run('SELECT * FROM acme_reports.later')).toBe('7\town\n');
  expect(await errorOf('SELECT * FROM acme_reports.unplaced')).toContain('(UNKNOWN_IDENTIFIER)');
});
