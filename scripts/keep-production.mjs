// `node scripts/keep-production.mjs SERVICE …` deletes from the current directory everything that those services do not need at run time:
// packages, ours and others', sources and tests. It is for the build of an image, and refuses a Git checkout. `--list` only prints what
// would stay. `npm ci --omit=dev` is not enough: it also keeps what the test kit depends on, such as the embedded ClickHouse and test
// tools, because the kit is a workspace like any other.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals: services } = parseArgs({
  options: { list: { type: 'boolean', default: false } },
  allowPositionals: true,
});
function fail(message) {
  console.error(`keep-production: ${message}`);
  process.exit(1);
}
if (services.length === 0) fail('usage: node scripts/keep-production.mjs [--list] SERVICE …');
if (!values.list && existsSync('.git')) fail('this is a Git checkout: run it in a copy, or with --list');
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));

/** The path where Node resolves `name` from the package at `from`; undefined if it is optional and not installed. */
function find(from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (path in packages) return path;
    if (at === '') return undefined;
  }
}

const kept = new Set();
function keep(path) {
  if (kept.has(path)) return;
  kept.add(path);
  const { link, resolved, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path];
  if (link) return keep(resolved);
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta?.[name]?.optional !== true);
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
    const found = find(path, name);
    if (found !== undefined) keep(found);
  }
}
for (const service of services) {
  if (!(`services/${service}` in packages)) fail(`there is no service ${service}`);
  keep(`services/${service}`);
}

if (values.list) {
  console.log([...kept].sort().join('\n'));
} else {
  for (const path of Object.keys(packages))
    if (path !== '' && !kept.has(path)) rmSync(path, { recursive: true, force: true });
  rmSync('node_modules/.bin', { recursive: true, force: true });
  for (const room of ['packages', 'services'].flatMap((kind) => readdirSync(kind).map((name) => join(kind, name)))) {
    for (const name of ['src', 'test'])
      if (existsSync(join(room, 'dist'))) rmSync(join(room, name), { recursive: true, force: true });
  }
}
