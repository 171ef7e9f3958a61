import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { EMBEDDED_PASSWORD, environmentWith } from '@waymark/config';
import { RESERVED_SLOTS } from './engine/slots.js';

/** Options of {@link embeddedCommand}. */
export interface EmbeddedServerOptions {
  /** Created if it does not exist. */
  readonly dataDir: string;
  /** What clients must send; see {@link newEmbeddedPassword}. */
  readonly password: string;
  /** By default, or if 0, any free port of 127.0.0.1. */
  readonly port?: number;
  /** Path of a unix socket to listen on instead of a port, in a directory that only this user can enter. */
  readonly socket?: string;
  /** Limit on concurrent statements with an owner: the setting CLICKHOUSE_SESSIONS. Default: 8. Those without one have two more. */
  readonly sessions?: number;
}

/** Options of {@link startEmbeddedClickHouse}. */
export interface EmbeddedClickHouseOptions extends EmbeddedServerOptions {
  /** Entry file of the server process. Default: `embeddedEntry()`. */
  readonly entry?: string;
  /** Where its output goes; `inherit` by default. */
  readonly stdio?: 'inherit' | 'ignore';
}

/** A running server, as a child process. */
export interface EmbeddedClickHouse {
  /** 0 if it listens on a socket. */
  readonly port: number;
  readonly pid: number;
  readonly child: ChildProcess;
  /** Waits for running statements, then ends the process. */
  stop(): Promise<void>;
}

const SESSIONS_DEFAULT = 8;

/** Additional threads of libuv's pool, for killing statements. */
const THREADS_EXTRA = 4;

/** A random password for one start of the server. */
export function newEmbeddedPassword(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The variables that a server process needs: its password, which is not an argument because all users can read those, and enough threads for
 * its sessions.
 */
export function embeddedEnvironment(password: string, sessions: number): Record<string, string> {
  return { [EMBEDDED_PASSWORD]: password, UV_THREADPOOL_SIZE: String(sessions + RESERVED_SLOTS + THREADS_EXTRA) };
}

/** The URL of the server on `port`, with its password. */
export function embeddedUrl(port: number, password: string): string {
  return `http://default:${password}@127.0.0.1:${port}`;
}

/** The URL of the server on the socket at `path`, an absolute path, with its password. */
export function embeddedSocketUrl(path: string, password: string): string {
  return `http+unix://default:${password}@localhost${pathToFileURL(path).pathname}`;
}

/** The entry file of the server process, for callers that start it themselves. */
export function embeddedEntry(): string {
  const compiled = fileURLToPath(new URL('./main.js', import.meta.url));
  return existsSync(compiled) ? compiled : fileURLToPath(new URL('./main.ts', import.meta.url));
}

/** The arguments and the environment of the server process, for callers that start it themselves. */
export function embeddedCommand(options: EmbeddedServerOptions) {
  const { dataDir, password, port = 0, socket, sessions = SESSIONS_DEFAULT } = options;
  const address = socket === undefined ? ['--port', String(port)] : ['--socket', socket];
  return {
    args: ['--data-dir', dataDir, ...address, '--sessions', String(sessions)],
    env: environmentWith(embeddedEnvironment(password, sessions)),
  };
}

/**
 * Starts the server as a child process and waits until it listens. The child exits when this process ends.
 *
 * @throws Error when the process ends before it listens
 */
export async function startEmbeddedClickHouse(options: EmbeddedClickHouseOptions): Promise<EmbeddedClickHouse> {
  const entry = options.entry ?? embeddedEntry();
  const stdio = options.stdio ?? 'inherit';
  const { args, env } = embeddedCommand(options);
  const child = fork(entry, args, {
    execArgv: entry.endsWith('.ts') ? ['--import', 'tsx', '--conditions=waymark-source'] : [],
    stdio: ['ignore', stdio, stdio, 'ipc'],
    env,
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`clickhouse-embedded ended during start-up: ${signal ?? code}`)),
    );
    child.once('message', (message) => resolve((message as { port: number }).port));
  });
  return { port, pid: child.pid ?? 0, child, stop: () => stop(child) };
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
