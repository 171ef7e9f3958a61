import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Engine } from './engine.js';
import { loadNativeEngine } from './native.js';
import { createEmbeddedServer } from './server.js';

const REQUEST_BYTES_MAX = 256 * 1024 * 1024;
/** Statements still running when a stop is asked for get this long. */
const STOP_MS_MAX = 10_000;

const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string' },
    port: { type: 'string', default: '0' },
    sessions: { type: 'string', default: '8' },
  },
});

function openEngine(dataDir: string): Engine {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    return new Engine(loadNativeEngine(), { dataDir, args: [], concurrency: Number(values.sessions) });
  } catch (err) {
    console.error(`clickhouse-embedded: ${dataDir} cannot be opened; is another process using it? ${String(err)}`);
    process.exit(1);
  }
}

async function engineVersion(engine: Engine): Promise<string> {
  const none = new Map<string, string>();
  const result = await engine.run(
    {
      sql: 'SELECT version()',
      data: Buffer.alloc(0),
      database: undefined,
      format: 'TSVRaw',
      settings: none,
      parameters: none,
    },
    new AbortController().signal,
  );
  return result.bytes.toString('utf8').trim();
}

const dataDir = values['data-dir'];
if (dataDir === undefined) {
  console.error('usage: clickhouse-embedded --data-dir DIRECTORY [--port PORT] [--sessions COUNT]');
  process.exit(2);
}
const engine = openEngine(resolve(dataDir));
const server = createEmbeddedServer(engine, {
  version: await engineVersion(engine),
  requestBytesMax: REQUEST_BYTES_MAX,
});

let isStopping = false;
function stop(): void {
  if (isStopping) return;
  isStopping = true;
  setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
  server.close(() => void engine.close().then(() => process.exit(0)));
  server.closeIdleConnections();
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// The parent died: nobody is left to ask.
process.on('disconnect', stop);

server.once('error', (err) => {
  console.error(`clickhouse-embedded: cannot listen: ${err.message}`);
  process.exit(1);
});
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ ready: true, port });
  console.log(`clickhouse-embedded: http://127.0.0.1:${port}`);
});
