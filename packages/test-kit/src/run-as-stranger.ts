import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from './stores/temporary-directory.js';

/** `nobody` where the tests run as root, who may do everything; else the user of the tests. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const TIMEOUT_MS = 60_000;

/**
 * Why {@link runAsStranger} cannot work here; undefined if it can.
 *
 * @param directory one that the user must be able to read as well
 */
export function strangerCannotRun(directory = '/'): string | undefined {
  try {
    runAsStranger([], `import { readdirSync } from 'node:fs'; readdirSync(${JSON.stringify(directory)});`);
    return undefined;
  } catch {
    return `another user cannot run ${process.execPath}, or not read the directory for temporary files or ${directory}`;
  }
}

/**
 * Runs a script as a user who may not send signals to process 1 or write where the rights of a directory forbid it.
 *
 * @param modules built files that the script can import as `./<name>`. They are copied, because the user may have no access to the checkout
 * @param script an ECMAScript module
 * @returns what it prints on standard output and standard error
 * @throws Error when it fails, or has not ended after a minute
 */
export function runAsStranger(modules: readonly URL[], script: string): string {
  const directory = temporaryDirectory('waymark-stranger-');
  try {
    chmodSync(directory, 0o755);
    for (const module of modules) copyFileSync(module, join(directory, basename(fileURLToPath(module))));
    writeFileSync(join(directory, 'package.json'), '{ "type": "module" }', { mode: 0o644 });
    writeFileSync(join(directory, 'script.js'), script, { mode: 0o644 });
    return execFileSync('sh', ['-c', 'exec "$0" script.js 2>&1', process.execPath], {
      ...STRANGER,
      cwd: directory,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
