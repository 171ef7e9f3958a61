import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Tests that measure the CPU time of their own process for hostile input. */
const MEASURED_ROOM = 'test/hostile';
/** Replaces a module, also for the files that run after it in the same process. */
const REPLACES_MODULE = /\bvi\.(?:mock|doMock)\(/;
/** Folders whose tests start processes, browsers, proxies or stacks, or read what the build makes. */
const SYSTEM_ROOMS = ['packages/browser-script', 'services/cli', 'services/standalone', 'services/writer', 'test'];
const STARTS_PROCESS = /from 'node:child_process'|\bforkService\(/;
const STARTS_STORE =
  /\b(?:startRedis|start(?:Migrated)?ClickHouse|startTest(?:Cluster|Replicas)|startS3Server|startEngineAs|startStores|createTestDatabase)\(/;
const RELATIVE_IMPORT = /from '(\.{1,2}\/[^']+)\.js'/g;

export type ProjectName = 'unit' | 'stores' | 'system' | 'isolated';

/**
 * The project that has the files of `unit`, `stores` and `system` in a run of all tests. A worker runs files of one project, so only
 * files of one project can alternate without a new process for each.
 */
export const TOGETHER = 'tests';

/** Every test file of the repository, by its path from the root, with its project. */
export function testFiles(): ReadonlyMap<string, ProjectName> {
  const rooms = ['packages', 'services'].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const paths = [...rooms.map((room) => join(room, 'test')), 'test'].flatMap(filesBelow);
  return new Map(paths.filter((path) => path.endsWith('.test.ts')).map((path) => [path, projectOf(path)]));
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
}

/**
 * The project of a test file. `isolated`: measures the CPU time of its own process, or replaces a module; each of these has a process of
 * its own, while the files of the other projects share the modules of theirs. `system`: is in one of the system rooms, or starts a process.
 * `stores`: starts a Redis or a storage, or opens a database. `unit`: all others. The fixtures that a file imports count as its own text.
 */
function projectOf(path: string): ProjectName {
  if (path.startsWith(`${MEASURED_ROOM}/`)) return 'isolated';
  const text = textWithFixtures(path, new Set());
  if (REPLACES_MODULE.test(text)) return 'isolated';
  if (SYSTEM_ROOMS.some((room) => path.startsWith(`${room}/`))) return 'system';
  if (STARTS_PROCESS.test(text)) return 'system';
  return STARTS_STORE.test(text) ? 'stores' : 'unit';
}

function textWithFixtures(path: string, seen: Set<string>): string {
  if (seen.has(path) || !existsSync(path)) return '';
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  const fixtures = [...text.matchAll(RELATIVE_IMPORT)]
    .map(([, name]) => `${join(dirname(path), name ?? '')}.ts`)
    // Only test fixtures: many source files could start processes or stores.
    .filter((fixture) => /(?:^|\/)test\//.test(fixture));
  return [text, ...fixtures.map((fixture) => textWithFixtures(fixture, seen))].join('\n');
}
