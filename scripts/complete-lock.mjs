// Adds to package-lock.json the optional packages of other platforms. npm omits them when the registry in use
// has only those of this platform, but `npm ci` refuses a lockfile without them. Run this after a change of dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64'];

/** Platform packages carry their platform in their names: `@oxc-parser/binding-linux-x64-gnu`. */
function platformOf(name) {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-');
  const os = words.find((word) => SYSTEMS.includes(word));
  const cpu = words.find((word) => PROCESSORS.includes(word));
  if (!os || !cpu) return undefined;
  return { os: [os], cpu: [cpu], ...(words.includes('musl') && { libc: ['musl'] }) };
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const added = {};
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (lock.packages[`node_modules/${name}`] || lock.packages[`${path}/node_modules/${name}`]) continue;
    const platform = platformOf(name);
    if (platform === undefined || !/^\d/.test(version)) {
      console.error(`${name}@${version} is missing, and its name does not contain a platform`);
      process.exitCode = 1;
      continue;
    }
    const kind = entry.dev ? { dev: true, optional: true } : { optional: true };
    added[`node_modules/${name}`] = { version, ...platform, ...kind };
    console.log(`added ${name}@${version}`);
  }
}

const packages = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries(packages);
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
