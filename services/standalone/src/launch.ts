import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { openLog } from './data-dir/log-files.js';

/** A child process that is ready. `pid` is that of the process that does the work, which may be a child of `child`. */
export interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
}

const LOG_TAIL_LINES = 5;
const LOG_LINES_SEARCHED = 40;
/** A log may be much larger. */
const LOG_BYTES_SEARCHED = 64 * 1024;

/** The message of a JSON line, as our own processes log them; other lines unchanged. */
function plainLine(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : line;
  } catch {
    return line;
  }
}

/** The end of a file as text; empty if the file cannot be read, because somebody has removed it. */
function endOfFile(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const bytes = Buffer.alloc(LOG_BYTES_SEARCHED);
    const start = Math.max(0, fstatSync(fd).size - bytes.length);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, start));
  } catch {
    return '';
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The last lines of a log, or the error with which a Node process has ended, and the path of the log. */
function logTail(file: string): string {
  const recent = endOfFile(file).trimEnd().split('\n').slice(-LOG_LINES_SEARCHED);
  // When Node ends with an error, it prints a stack and its version below the error.
  const start = recent.findLastIndex((line) => /^\w*Error\b/.test(line));
  const lines = start === -1 ? recent.slice(-LOG_TAIL_LINES) : recent.slice(start, start + LOG_TAIL_LINES);
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
  let stopListening = () => {};
  const fail = new Promise<never>((_, reject) => {
    const end = (reason: string) => {
      ended.abort();
      reject(new Error(reason));
    };
    const onExit = (code: number | null, by: NodeJS.Signals | null) =>
      end(`${name} ended at its start (${describeExit(code, by)}):\n${logTail(logFile)}`);
    const onAbort = () => end(`${name}: start given up`);
    // Stays, because a child can also emit `error` later, which would end this process if nothing listened.
    child.on('error', (err) => end(`${name} cannot be started: ${err.message}`));
    child.once('exit', onExit);
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => {
      child.off('exit', onExit);
      signal.removeEventListener('abort', onAbort);
    };
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([whenReady(ended.signal), fail]);
  } catch (err) {
    child.kill('SIGKILL');
    throw err;
  } finally {
    // `signal` lives as long as this process, which starts a child whenever one ends.
    stopListening();
  }
}

/** The entry file of another process of this service: compiled like this module, or TypeScript in tests. */
export function processEntry(name: 'http' | 'prepare' | 'redis-guard'): URL {
  return new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
}

/** A Node process of this repository. */
export interface NodeProcess {
  /** For its log file and for messages. */
  readonly name: string;
  readonly entry: URL;
  readonly dataDir: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts a Node process and waits for its message `{ready: true}`. It ends when its IPC channel closes, that is when this process
 * ends. `detached` gives it its own process group, so that Ctrl-C reaches only the supervisor, which stops its children in
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
