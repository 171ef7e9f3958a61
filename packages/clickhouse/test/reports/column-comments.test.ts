import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  type TestDatabase,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/index.js';
import { MIGRATIONS_DIRECTORY, readMigrationFiles } from '../../src/migrations/migration-files.js';
import { renderMigration } from '../../src/migrations/render.js';
import { splitStatements } from '../../src/migrations/split-statements.js';

const FILE = '0043_column_comments.sql';
const TABLES = [
  ...['click_events', 'lead_events', 'sale_events', 'link_totals', 'customer_totals', 'workspace_slots', 'link_days'],
  ...[
    'workspaces',
    'domains',
    'links',
    'customers',
    'tags',
    'folders',
    'groups',
    'partner_tags',
    'partners',
    'programs',
  ],
];

let db: TestDatabase;
let directory: string;
/** The files of the tables with events, and the number of mutations, before the migration. */
let before: unknown[];

beforeAll(async () => {
  db = await createTestDatabase({ migrated: false });
  directory = mkdtempSync(join(tmpdir(), 'waymark-migrations-'));
  cpSync(MIGRATIONS_DIRECTORY, directory, {
    recursive: true,
    filter: (path) => !/^00(4[3-9]|[5-9])/.test(basename(path)),
  });
  await migrate(db.client, { directory });
  await insertClicks(db.client, [aClick()]);
  await insertLeads(db.client, [aLead()]);
  await insertSales(db.client, [aSale()]);
  before = await state();
  await migrate(db.client);
});
afterAll(async () => {
  await db.drop();
  rmSync(directory, { recursive: true });
});

async function rows<Row>(query: string): Promise<Row[]> {
  return (await db.client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

const state = () =>
  rows(`SELECT (SELECT arraySort(groupArray((table, name, modification_time))) FROM system.parts
      WHERE database = currentDatabase() AND active AND NOT startsWith(table, 'schema_')) AS parts,
    (SELECT count() FROM system.mutations WHERE database = currentDatabase()) AS mutations`);

test('every column of events, roll-ups and records has a comment, except ip, whose definition shows its expiry', async () => {
  const without = await rows<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase() AND comment = ''
      AND table IN (${TABLES.map((name) => `'${name}'`).join(', ')}) ORDER BY table`,
  );
  expect(without).toEqual(['click_events', 'lead_events', 'sale_events'].map((table) => ({ table, name: 'ip' })));
});

test('the migration that adds the comments rewrites no row of an installation with events, and may be repeated', async () => {
  expect(await state()).toEqual(before);
  const file = (await readMigrationFiles(MIGRATIONS_DIRECTORY)).find(({ name }) => name === FILE);
  const statements = splitStatements(renderMigration(file?.text ?? '', {}));
  expect(statements).toHaveLength(TABLES.length);
  for (const query of statements) await db.client.command({ query });
  expect(await state()).toEqual(before);
});
