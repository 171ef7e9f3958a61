import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentWith, type RunState, readRunState } from '@waymark/config';
import { endingOf, makeMigratedStore, temporaryDirectory, waitFor } from '@waymark/test-kit';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const MAIN = join(ROOT, 'services/standalone/dist/main.js');
const START_MS_MAX = 120_000;
/** Time limit of hooks and tests that start a stack, which takes long on a busy machine. */
export const UP_MS_MAX = 300_000;

export function temporaryDataDir(): string {
  return temporaryDirectory('waymark-up-');
}

/** A data directory whose tables exist, for tests that do not test the first start. */
export async function migratedDataDir(): Promise<string> {
  const dataDir = temporaryDataDir();
  await makeMigratedStore(join(dataDir, 'clickhouse'));
  return dataDir;
}

/** Retries, because processes that are ending may still write to the directory. */
export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

export interface Up {
  readonly child: ChildProcess;
  readonly dataDir: string;
  /** The output so far. */
  output(): string;
  /** The current content of the run file. */
  state(): RunState | undefined;
  /** Waits until the run file exists. */
  ready(): Promise<RunState>;
  /** The API key of the workspace that the first start has created. */
  firstKey(): string;
  /** Exit code, or the signal that ended it. */
  ended(): Promise<number | string>;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<number | string>;
}

/** The supervisor, which `npm run up` starts last, and the command itself, which first checks installation and build. */
const COMMANDS = { supervisor: [process.execPath, MAIN], npm: ['npm', 'run', 'up'] } as const;

/** Starts the whole stack, by default on free ports. */
export function runUp(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  command: keyof typeof COMMANDS = 'supervisor',
): Up {
  const [program, ...args] = COMMANDS[command];
  const child = spawn(program, args, {
    cwd: ROOT,
    // Its own process group, as a terminal creates it, so that a test can send Ctrl-C to the whole group.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentWith({ DATA_DIR: dataDir, API_PORT: '0', LINK_PORT: '0', ...env }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  const ended = async () => {
    await closed;
    return child.signalCode ?? child.exitCode ?? 0;
  };
  return {
    child,
    dataDir,
    output: () => output,
    state: () => readRunState(dataDir),
    async ready() {
      return waitFor(() => readRunState(dataDir), {
        what: 'the stack to be up',
        timeoutMs: START_MS_MAX,
        failure: () => endingOf(child) && 'up has ended',
        details: () => output,
      });
    },
    firstKey: () => readFileSync(join(dataDir, 'first-api.key'), 'utf8').trim(),
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended();
    },
  };
}

/** A process id of the run file. Fails if it is missing, because a signal to the process 0 ends the whole run of the tests. */
export function pidOf(pid: number | null | undefined): number {
  if (!pid) throw new Error('a process of the stack has no id');
  return pid;
}

/** Kills the stack if it still runs, and removes its data. */
export async function removeUp(up: Up): Promise<void> {
  if (up.child.exitCode === null && up.child.signalCode === null) {
    up.child.kill('SIGKILL');
    await up.ended();
  }
  removeDataDir(up.dataDir);
}
