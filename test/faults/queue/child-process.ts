import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';
import { buildSync } from 'esbuild';

const BUNDLES = resolve(import.meta.dirname, '../../../node_modules/.cache/test-processes');
/** CommonJS packages call `require`. */
const REQUIRE = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/**
 * Bundles a TypeScript file with everything that it imports, and returns the bundle's path. A process starts from it in a quarter of
 * the processor time that it takes with `tsx`. Nothing that it imports may use `import.meta.url`.
 */
export function bundleProcess(source: URL): string {
  const bundle = join(BUNDLES, `${basename(source.pathname, '.ts')}.mjs`);
  // Several workers bundle the same file, and one must not start a process from what another has half written.
  const draft = `${bundle}.${process.pid}`;
  buildSync({
    entryPoints: [fileURLToPath(source)],
    outfile: draft,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['waymark-source'],
    banner: { js: REQUIRE },
    logLevel: 'error',
  });
  renameSync(draft, bundle);
  return bundle;
}

/** Starts a compiled process. It ends with this process, because its IPC channel closes. */
export function forkProcess(
  entry: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcess {
  const child = fork(entry, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentWith(env),
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  return child;
}

/** Sends SIGKILL and waits for the exit. */
export async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
