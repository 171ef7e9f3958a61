// Imports run in one direction only: services -> packages, and between packages as drawn below. Checked in every
// package.json and every import of every source and test; `process.env` is read in packages/config and nowhere else.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** What each package may import of ours. A package that is not here is not in the drawing. */
const DRAWN = {
  contract: [],
  'event-query': ['contract'],
  'event-format': ['contract'],
  config: ['contract'],
  clickhouse: ['contract', 'event-query', 'event-format'],
  'clickhouse-embedded': ['config'],
  'event-queue': ['contract', 'event-format', 'clickhouse'],
  catalog: ['contract', 'event-query', 'event-format', 'clickhouse', 'event-queue'],
  visit: ['contract'],
  outbound: [],
  'ops-page': [],
  webhooks: ['contract', 'event-format', 'clickhouse', 'event-queue', 'catalog', 'outbound'],
  'rate-limit': ['contract'],
  'http-kit': ['contract', 'catalog', 'rate-limit'],
  observability: ['contract', 'clickhouse', 'event-queue', 'http-kit'],
  bootstrap: ['catalog', 'config', 'http-kit', 'observability', 'rate-limit'],
  'test-kit': [
    'contract',
    'event-query',
    'event-format',
    'clickhouse',
    'clickhouse-embedded',
    'event-queue',
    'catalog',
    'visit',
    'config',
  ],
};
/** Rooms that do no I/O, and all they may import from outside. */
const PURE = new Set(['contract', 'event-query', 'event-format']);
const PURE_EXTERNALS = new Set([
  'zod',
  'date-fns',
  '@date-fns/tz',
  'chrono-node',
  'fastest-levenshtein',
  'node:crypto',
]);
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g;

const complaints = [];
const rooms = ['packages', 'services'].flatMap((kind) =>
  readdirSync(kind)
    .filter((name) => existsSync(join(kind, name, 'package.json')))
    .map((name) => ({ kind, name, folder: join(kind, name) })),
);
const services = new Set(rooms.filter((room) => room.kind === 'services').map((room) => room.name));

/** @returns {string | undefined} why `room` may not import our package `target` */
function refusal(room, target, isTest) {
  if (target === room.name) return undefined;
  if (isTest && target === 'test-kit') return undefined;
  if (services.has(target)) {
    if (room.name === 'standalone' && room.kind === 'services') return undefined;
    return room.kind === 'packages' ? 'a package never imports a service' : 'only standalone imports other services';
  }
  if (!(target in DRAWN)) return 'there is no such room';
  if (target === 'test-kit') return 'test-kit is for tests';
  if (room.kind === 'services' || DRAWN[room.name]?.includes(target)) return undefined;
  return `packages/${room.name} may import only: ${DRAWN[room.name]?.join(', ') || 'nothing of ours'}`;
}

function checkImport(room, place, specifier, isTest) {
  const ours = /^@waymark\/([^/]+)/.exec(specifier)?.[1];
  if (ours !== undefined) {
    const reason = refusal(room, ours, isTest);
    if (reason) complaints.push(`${place}: imports ${specifier}: ${reason}`);
  } else if (PURE.has(room.name) && !isTest && !specifier.startsWith('.') && !PURE_EXTERNALS.has(specifier)) {
    complaints.push(`${place}: imports ${specifier}: packages/${room.name} does no I/O`);
  }
}

function checkRelative(room, file, specifier, isTest) {
  if (!specifier.startsWith('.')) return;
  const target = relative(room.folder, resolve(dirname(file), specifier));
  const isTopLevelTestCode = isTest && relative('test', resolve(dirname(file), specifier))[0] !== '.';
  if (target.startsWith('..') && !isTopLevelTestCode) {
    complaints.push(`${file}: imports ${specifier}: reaches into another room past its index`);
  }
}

function checkFile(room, file, isTest) {
  const text = readFileSync(file, 'utf8');
  for (const [, , specifier] of text.matchAll(IMPORT)) {
    checkImport(room, file, specifier, isTest);
    checkRelative(room, file, specifier, isTest);
  }
  if (room.name !== 'config' && /\bprocess\s*\.\s*env\b|\bprocess\[['"]env/.test(text)) {
    complaints.push(`${file}: reads process.env: only packages/config does`);
  }
}

function sourceFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((name) => /\.(ts|mts|mjs|js)$/.test(name))
    .map((name) => join(folder, name));
}

for (const room of rooms) {
  if (room.kind === 'packages' && !(room.name in DRAWN)) complaints.push(`${room.folder}: not in the drawing`);
  const manifest = JSON.parse(readFileSync(join(room.folder, 'package.json'), 'utf8'));
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
    checkImport(room, `${room.folder}/package.json`, name, false);
  }
  for (const name of Object.keys(manifest.devDependencies ?? {})) {
    checkImport(room, `${room.folder}/package.json (dev)`, name, true);
  }
  for (const file of [...sourceFiles(join(room.folder, 'src')), ...sourceFiles(join(room.folder, 'bin'))]) {
    checkFile(room, file, false);
  }
  for (const file of sourceFiles(join(room.folder, 'test'))) checkFile(room, file, true);
}

for (const complaint of complaints) console.error(complaint);
console.log(
  complaints.length === 0
    ? `imports: ${rooms.length} rooms as drawn`
    : `imports: ${complaints.length} against the drawing`,
);
process.exit(complaints.length === 0 ? 0 : 1);
