// Exits with 0 if node_modules contains every package of the lockfile, at its version. npm keeps a lockfile of its own inside
// node_modules, so no stamp file is needed.
import { readFileSync } from 'node:fs';

function lockedPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

const wanted = lockedPackages('package-lock.json') ?? {};
const installed = lockedPackages('node_modules/.package-lock.json');

const complete =
  installed !== undefined &&
  Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true;
    const found = installed[path];
    // Packages for other platforms are optional and not installed.
    if (found === undefined) return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });

process.exit(complete ? 0 : 1);
