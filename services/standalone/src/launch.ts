import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A child process that is ready. `pid` is that of the process doing the work, which may be a child of `child`. */
export interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
}

const LOG_BYTES_MAX = 16 * 1024 * 1024;
const LOG_TAIL_LINES = 5;
const LOG_LINES_SEARCHED = 40;

/** Opens the log of a child for appending. A large log is first renamed to `.old`. */
export function openLog(dataDir: string, name: string): { readonly file: string; readonly fd: number } {
  const directory = join(dataDir, 'logs');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(file, `${file}.old`);
  return { file, fd: openSync(file, 'a', 0o600) };
}

/** The message of a JSON line, as our own processes log them; other lines unchanged. */
function plainLine(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : line;
  } catch {
    return line;
  }
}

function logTail(file: string): string {
  const recent = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SEARCHED);
  // When Node ends with an error, it prints a stack and its version below the error.
  const start = recent.findLastIndex((line) => /^\w*Error\b/.test(line));
  const lines = start < 0 ? recent.slice(-LOG_TAIL_LINES) : recent.slice(start, start + LOG_TAIL_LINES);
  return [...lines.map((line) => `    ${plainLine(line)}`), `    (${file})`].join('\n');
}

/** How a process ended, in words. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

/**
 * Waits until a new process is ready. If it ends first, rejects with the last lines of its log; when `signal` is aborted, kills it
 * and rejects.
 *
 * @param whenReady resolves when the process is ready; its signal is aborted when there is nothing to wait for any more
 */
export async function untilReady<T>(
  name: string,
  child: ChildProcess,
  logFile: string,
  signal: AbortSignal,
  whenReady: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const fail = new Promise<never>((_, reject) => {
    const end = (reason: string) => {
      ended.abort();
      reject(new Error(reason));
    };
    child.once('error', (err) => end(`${name} cannot be started: ${err.message}`));
    child.once('exit', (code, by) =>
      end(`${name} ended at its start (${describeExit(code, by)}):\n${logTail(logFile)}`),
    );
    signal.addEventListener('abort', () => end(`${name}: start given up`), { once: true });
    if (signal.aborted) end(`${name}: start given up`);
  });
  try {
    return await Promise.race([whenReady(ended.signal), fail]);
  } catch (err) {
    child.kill('SIGKILL');
    throw err;
  }
}

/** The entry file of another process of this service: compiled like this module, or TypeScript in tests. */
export function processEntry(name: 'http' | 'prepare' | 'redis-guard'): URL {
  return new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
}

export interface NodeProcess {
  readonly name: string;
  readonly entry: URL;
  readonly dataDir: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts a Node process of ours and waits for its message `{ready: true}`. It ends when its IPC channel closes, that is when this
 * process ends. `detached` gives it its own process group, so that Ctrl-C reaches only the supervisor, which stops its children in
 * order.
 */
export async function launchNode(node: NodeProcess, signal: AbortSignal): Promise<Launched> {
  const { name, entry, dataDir, args = [], env } = node;
  const log = openLog(dataDir, name);
  const child = fork(entry, args, { detached: true, stdio: ['ignore', log.fd, log.fd, 'ipc'], env });
  closeSync(log.fd);
  await untilReady(name, child, log.file, signal, () => readyMessage(child));
  return { child, pid: child.pid ?? 0 };
}

function readyMessage(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      if (typeof message === 'object' && 'ready' in message && message.ready === true) resolve();
    });
  });
}
