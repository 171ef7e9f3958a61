import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { environmentWith } from '@waymark/config';
import { freePort } from '@waymark/test-kit';

const ROOT = resolve(import.meta.dirname, '../../..');

/** A process under measurement. */
export interface BenchProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

function untilReady(child: ChildProcess): Promise<{ port?: number }> {
  return new Promise((done, failed) => {
    child.once('message', (message) => done(message as { port?: number }));
    child.once('exit', (code) => failed(new Error(`the process under measurement ended with ${code}`)));
  });
}

function stopper(child: ChildProcess, dataDir: string): () => Promise<void> {
  return async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  };
}

/** One of our services. `apiPort` and `linkPort` are the ports of its API and of short links; `port` is one of the two. */
export interface BenchService extends BenchProcess {
  readonly apiPort: number;
  readonly linkPort: number;
  readonly dataDir: string;
}

/** The service with the whole API and short links has another entry file. */
const ENTRY_FILES: Readonly<Record<string, string>> = { standalone: 'http' };

/**
 * Starts the compiled entry file of a service, as production runs it. `port` is its link port, or the API port if it has none.
 *
 * @param root another built checkout to compare with; by default this one
 */
export async function startService(
  name: 'ingest' | 'management' | 'query' | 'writer' | 'standalone',
  environment: Readonly<Record<string, string>>,
  root = ROOT,
): Promise<BenchService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waymark-bench-'));
  const port = await freePort();
  const other = String(await freePort());
  const [apiPort, linkPort] = name === 'ingest' ? [other, String(port)] : [String(port), other];
  const ports = { API_PORT: apiPort, LINK_PORT: linkPort, WRITER_PORT: String(await freePort()) };
  const child = fork(join(root, `services/${name}/dist/${ENTRY_FILES[name] ?? 'main'}.js`), {
    // Without the TypeScript loader of this process, whose cost production does not have.
    execArgv: [],
    env: environmentWith({ ...environment, ...ports, DATA_DIR: dataDir }),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await untilReady(child);
  return {
    pid: child.pid ?? 0,
    port,
    apiPort: Number(apiPort),
    linkPort: Number(linkPort),
    dataDir,
    stop: stopper(child, dataDir),
  };
}

async function startBare(file: string): Promise<BenchProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waymark-bench-'));
  const child = fork(join(import.meta.dirname, file), {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port = 0 } = await untilReady(child);
  return { pid: child.pid ?? 0, port, stop: stopper(child, dataDir) };
}

/** The baseline: the same framework without our code. */
export const startBareFastify = (): Promise<BenchProcess> => startBare('bare-fastify.ts');

/** Counts the webhooks that it receives. */
export const startBareReceiver = (): Promise<BenchProcess> => startBare('bare-receiver.ts');
