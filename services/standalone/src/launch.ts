import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A child process that is ready. `pid` is the one doing the work, which may be a child of `child`. */
export interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
}

const LOG_BYTES_MAX = 16 * 1024 * 1024;
const LOG_TAIL_LINES = 5;
const LOG_LINES_SEARCHED = 40;

/** Opens the log of a child for appending; one that grew large makes room, its predecessor is kept as `.old`. */
export function openLog(dataDir: string, name: string): { readonly file: string; readonly fd: number } {
  const directory = join(dataDir, 'logs');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(file, `${file}.old`);
  return { file, fd: openSync(file, 'a', 0o600) };
}

/** Our own processes log JSON: of those lines only the message is for the terminal. */
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
  // What Node prints last when it ends is its version and a stack: the error itself stands above.
  const start = recent.findLastIndex((line) => /^\w*Error\b/.test(line));
  const lines = start < 0 ? recent.slice(-LOG_TAIL_LINES) : recent.slice(start, start + LOG_TAIL_LINES);
  return [...lines.map((line) => `    ${plainLine(line)}`), `    (${file})`].join('\n');
}

/** How a process ended, in words. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

/**
 * Runs `whenReady` on a process just started; should the process end first, or `signal` fire, the process is killed and the
 * promise rejects with the end of its log.
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

export interface NodeProcess {
  readonly name: string;
  readonly entry: URL;
  readonly dataDir: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts a Node process of ours and waits for its message `{ready: true}`. It stops itself when its IPC channel closes, that
 * is when this process dies. It leads a process group of its own: Ctrl-C in a terminal must reach the supervisor alone, or
 * all would stop at once instead of in order.
 */
export async function launchNode(node: NodeProcess, signal: AbortSignal): Promise<Launched> {
  const { name, entry, dataDir, args = [], env } = node;
  const log = openLog(dataDir, name);
  const child = fork(fileURLToPath(entry), args, { detached: true, stdio: ['ignore', log.fd, log.fd, 'ipc'], env });
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
