import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@waymark/test-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { stablePort } from '../../src/ports.js';
import { identifyProcess } from '../../src/process-identity.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

const MODULE = new URL('../../dist/redis-process.js', import.meta.url).href;

/** Starts Redis as the supervisor does, and prints its pid. */
const PARENT = `
const [, , dataDir, port, path] = process.argv;
const { launchRedis } = await import('${MODULE}');
const options = { dataDir, port: Number(port), maxmemoryMb: 64, password: 'the-secret', env: { PATH: path } };
const { pid } = await launchRedis(options, new AbortController().signal);
console.log(pid);
setInterval(() => {}, 1000);
`;

/** A PATH that contains Redis but not setpriv, as on macOS. */
function pathWithout(dataDir: string): string {
  const directory = join(dataDir, 'bin');
  mkdirSync(directory);
  const server = execFileSync('sh', ['-c', 'command -v redis-server || command -v valkey-server'], {
    encoding: 'utf8',
  });
  symlinkSync(server.trim(), join(directory, 'redis-server'));
  return directory;
}

const fullPath = () => execFileSync('sh', ['-c', 'printf %s "$PATH"'], { encoding: 'utf8' });

describe('Redis started for a stack', () => {
  let dataDir: string;
  afterEach(() => removeDataDir(dataDir));

  it.each([
    ['on a system with parent death signals', fullPath],
    ['on a system without them', pathWithout],
  ])('ends with the process that started it, %s', async (_where, path) => {
    dataDir = temporaryDataDir();
    const port = String(await stablePort(dataDir));
    const script = join(dataDir, 'parent.mjs');
    writeFileSync(script, PARENT);
    const parent = spawn(process.execPath, [script, dataDir, port, path(dataDir)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(identifyProcess(pid)).toBeDefined();
    parent.kill('SIGKILL');
    await waitFor(() => identifyProcess(pid) === undefined, { what: 'the end of Redis' });
  });
});
