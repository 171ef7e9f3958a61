import { mkdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readEmbeddedPassword } from '@waymark/config';
import { writeAccess } from './access.js';
import { repairDeduplicationLogs } from './engine/deduplication-log.js';
import { Engine } from './engine/engine.js';
import { baseSettings, defaultMemoryBytes, engineArguments, REQUEST_BYTES_MAX } from './engine/limits.js';
import { loadNativeEngine } from './engine/native.js';
import { createEmbeddedServer } from './http/server.js';

/** How long running statements may continue after SIGTERM. */
const STOP_MS_MAX = 10_000;
const IDLE_CHECK_MS = 20;
/** How often failed writes in the background are looked for: much more often than the parts that a merge has replaced are removed. */
const WRITES_CHECK_MS = 2_000;

function fail(message: string, code = 1): never {
  console.error(`clickhouse-embedded: ${message}`);
  process.exit(code);
}

/** Ends this process at once. A normal exit would wait for running statements; acknowledged data is on disk already. */
function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

function openEngine(dataDir: string, memoryBytes: number, concurrency: number): Engine {
  const onBroken = (err: unknown) => fail(`the engine failed: ${String(err)}`);
  const onFailedWrite = () => {
    console.error(
      `clickhouse-embedded: a write to ${dataDir} has failed: is the disk full? Starting again from what is on disk`,
    );
    killSelf();
  };
  try {
    const args = [writeAccess(dataDir), ...engineArguments(memoryBytes)];
    return new Engine(loadNativeEngine(), { dataDir, args, concurrency, onBroken, onFailedWrite });
  } catch (err) {
    // The engine locks the directory until its process ends. It has printed its own message before.
    return fail(`${dataDir} cannot be opened; another process may be using it (${String(err)})`);
  }
}

/**
 * Opens the engine and repairs its deduplication logs. The repair needs the lock of an open engine; after a change the engine is
 * opened again, to read the logs again.
 */
async function openRepaired(dataDir: string, memoryBytes: number, concurrency: number): Promise<Engine> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const engine = openEngine(dataDir, memoryBytes, concurrency);
  const removed = repairDeduplicationLogs(dataDir);
  if (removed === 0) return engine;
  console.error(`clickhouse-embedded: removed ${removed} deduplication records of blocks that do not exist`);
  await engine.close();
  return openEngine(dataDir, memoryBytes, concurrency);
}

async function readVersion(engine: Engine): Promise<string> {
  const [settings, parameters] = [new Map<string, string>(), new Map<string, string>()];
  const statement = { database: undefined, data: Buffer.alloc(0), format: 'TSVRaw', settings, parameters };
  const result = await engine.run({ ...statement, sql: 'SELECT version()' }, new AbortController().signal);
  return result.bytes.toString('utf8').trim();
}

function watchWrites(engine: Engine): NodeJS.Timeout {
  return setInterval(() => {
    engine.checkWrites().catch((err: unknown) => console.error(`clickhouse-embedded: ${String(err)}`));
  }, WRITES_CHECK_MS);
}

function readPassword(): string {
  try {
    return readEmbeddedPassword();
  } catch (err) {
    return fail(err instanceof Error ? err.message : String(err), 2);
  }
}

// When the parent has ended, all clients have ended, too, and the next server needs the lock on the directory at once.
process.on('disconnect', killSelf);

const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string' },
    port: { type: 'string', default: '0' },
    socket: { type: 'string' },
    sessions: { type: 'string' },
  },
});
const { 'data-dir': dataDir, sessions } = values;
if (dataDir === undefined || sessions === undefined) {
  fail('usage: --data-dir DIRECTORY --sessions COUNT [--port PORT | --socket PATH]', 2);
}
const password = readPassword();
const memoryBytes = defaultMemoryBytes();
const engine = await openRepaired(resolve(dataDir), memoryBytes, Number(sessions));
const server = createEmbeddedServer(engine, {
  password,
  version: await readVersion(engine),
  requestBytesMax: REQUEST_BYTES_MAX,
  baseSettings: baseSettings(memoryBytes),
});

const writesWatch = watchWrites(engine);
let isStopping = false;
function stop(): void {
  if (isStopping) return;
  isStopping = true;
  clearInterval(writesWatch);
  setTimeout(() => {
    console.error('clickhouse-embedded: statements were still running at the shutdown deadline');
    killSelf();
  }, STOP_MS_MAX).unref();
  server.close(() => void engine.close().then(() => process.exit(0)));
  // A keep-alive connection becomes idle when its statement has ended.
  setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
}
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

server.once('error', (err) => fail(`cannot listen: ${err.message}`));
const { socket } = values;
// The lock of the engine is held, so this is the socket of a server that was killed.
if (socket !== undefined) rmSync(socket, { force: true });
server.listen(socket === undefined ? { port: Number(values.port), host: '127.0.0.1' } : { path: socket }, () => {
  const port = socket === undefined ? (server.address() as AddressInfo).port : 0;
  process.send?.({ ready: true, port });
});
