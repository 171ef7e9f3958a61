import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUEUE_TABLES } from '@waymark/event-format';
import { describe, expect, test } from 'vitest';

/** The texts in backquotes in the first cells of the tables of a document. */
function namesInTables(text: string): Set<string> {
  const cells = text.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.split(' | ')[0] ?? ''] : []));
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)));
}

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

const named = namesInTables(readFileSync('docs/privacy.md', 'utf8'));
const missing = (names: readonly string[]) => [...new Set(names)].filter((name) => !named.has(name));

/** Every source file of a room, as one text. */
const source = ['packages', 'services']
  .flatMap((folder) => readdirSync(folder).map((room) => join(folder, room)))
  .filter((room) => room !== 'packages/test-kit')
  .flatMap((room) => filesBelow(join(room, 'src'), '.ts'))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

describe('docs/privacy.md has a row for', () => {
  test('every table of ClickHouse', () => {
    const migrations = filesBelow('clickhouse/migrations', '.sql').map((file) => readFileSync(file, 'utf8'));
    const tables = all(migrations.join('\n'), /CREATE TABLE IF NOT EXISTS (\w+)/g);
    const ofRunner = all(
      readFileSync('packages/clickhouse/src/migrations/bookkeeping.ts', 'utf8'),
      /'(schema_[a-z_]+)'/g,
    );
    expect(tables.length).toBeGreaterThan(25);
    expect(ofRunner.length).toBeGreaterThan(3);
    expect(missing([...tables, ...ofRunner])).toEqual([]);
  });

  test('every queue', () => {
    const others = all(readFileSync('packages/event-queue/src/queue/keys.ts', 'utf8'), /_QUEUE = '([a-z-]+)'/g);
    expect(others.length).toBeGreaterThan(1);
    expect(missing([...Object.keys(QUEUE_TABLES), ...others])).toEqual([]);
  });

  test('every claim', () => {
    const claims = all(readFileSync('packages/event-queue/src/claims/claim-names.ts', 'utf8'), /return `([a-z-]+:)/g);
    expect(claims.length).toBeGreaterThan(4);
    expect(missing(claims)).toEqual([]);
  });

  test('every family of keys of the queue, of the state of events, and of caches, locks and limits', () => {
    // Claims and state have tables of their own.
    const ofQueue = all(source, /\$\{QUEUE_PREFIX\}:([a-z-]+:?)/g).filter(
      (name) => name !== 'claim:' && name !== 'state:',
    );
    const ofState = all(source, /stateKey\(\s*`([a-z-]+:)/g).map((name) => `state:${name}`);
    const others = all(source, /\b(waymark:[a-z-]+:?)/g);
    // Leases get their names from their callers.
    const runners = all(source, /createJobRunner[^;]*?\bwhat: '([a-z]+)'/g).map((what) => `waymark:${what}-job:`);
    const leases = all(source, /takeLease\(redis, [`']([a-z-]+:?)/g).map((name) => `waymark:${name}`);
    expect(all(source, /(waymark:\$)/g)).toHaveLength(1);
    expect(runners.length).toBeGreaterThan(1);
    expect(leases.length).toBeGreaterThan(3);
    expect(ofQueue.length).toBeGreaterThan(15);
    expect(ofState.length).toBeGreaterThan(4);
    expect(others.length).toBeGreaterThan(6);
    expect(missing([...ofQueue, ...ofState, ...others, ...runners, ...leases])).toEqual([]);
  });

  test('every part of DATA_DIR that a backup copies', () => {
    const text = readFileSync('docs/privacy.md', 'utf8');
    const [, list = ''] =
      /BACKUP_ENTRIES = \[([\s\S]*?)\] as const/.exec(readFileSync('services/cli/src/backup/data-files.ts', 'utf8')) ??
      [];
    const folders = all(list, /'([a-z]+)'/g);
    expect(folders.length).toBeGreaterThan(2);
    expect(folders.filter((name) => !text.includes(`\`DATA_DIR/${name}\``))).toEqual([]);
  });

  test('every cookie', () => {
    const cookies = ['dub_id', 'dub_partner_data', 'dub_test_url', 'dub_password_<linkId>', 'dub_id_<domain>_<key>'];
    // Prefix of keys, and a parameter of destinations.
    const others = new Set(['dub_pk', 'dub_client_reference_id']);
    const inSource = all(source, /[`'"](dub_[a-z_]*[a-z])_?[$=`'"]/g).filter((name) => !others.has(name));
    expect(missing(cookies)).toEqual([]);
    expect(inSource.filter((name) => !cookies.some((cookie) => cookie.startsWith(name)))).toEqual([]);
  });
});
