import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess } from '@waymark/config';
import { connectRedis, redisSocketUrl } from '@waymark/redis';
import { waitFor } from '@waymark/test-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { removeDataDir, temporaryDataDir } from './run-up.js';

const MODULE = new URL('../../dist/redis-process.js', import.meta.url).href;

/** Starts Redis as the supervisor does, and prints its pid. */
const PARENT = `
const [, , dataDir, socket, path] = process.argv;
const { launchRedis } = await import('${MODULE}');
const options = { dataDir, socket, maxmemoryMb: 64, password: 'the-secret', env: { PATH: path } };
const { pid } = await launchRedis(options, new AbortController().signal);
console.log(pid);
setInterval(() => {}, 1000);
`;

/** Fails to start the process that starts Redis where there is no setpriv, as when the machine has no process left. */
const UNABLE = `
const [, , dataDir, socket, path] = process.argv;
process.execPath = '/nowhere/node';
const { launchRedis } = await import('${MODULE}');
const options = { dataDir, socket, maxmemoryMb: 64, password: 'the-secret', env: { PATH: path } };
await launchRedis(options, new AbortController().signal).catch((err) => console.log(err.message));
`;

const GUARD = new URL('../../dist/redis-guard.js', import.meta.url).pathname;

/** Starts a command under the guard of Redis, and ends at once. */
const KILLED_EARLY = `
const [, , guard, mark] = process.argv;
const { fork } = await import('node:child_process');
fork(guard, [process.execPath, '-e', 'setInterval(() => {}, 1000)', mark]);
process.kill(process.pid, 'SIGKILL');
`;

/** Whether a process has the text in its command line. Linux only. */
function isRunning(mark: string): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
    } catch {
      // It has ended since.
      return false;
    }
  });
}

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
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const process of started) process.kill('SIGKILL');
    removeDataDir(dataDir);
  });

  /** A process that starts Redis as the supervisor does. @returns it with the pid of Redis, which is 0 if it could not be started */
  async function startParent(path: string) {
    const script = join(dataDir, 'parent.mjs');
    writeFileSync(script, PARENT);
    const parent = spawn(process.execPath, [script, dataDir, join(dataDir, 'redis.sock'), path], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(parent);
    let errors = '';
    parent.stderr.on('data', (data) => {
      errors += String(data);
    });
    const pid = await Promise.race([
      once(parent.stdout, 'data').then(([line]) => Number(String(line))),
      once(parent, 'exit').then(() => 0),
    ]);
    return { parent, pid, errors: () => errors };
  }

  it.each([
    ['on a system with parent death signals', fullPath],
    ['on a system without them', pathWithout],
  ])('ends with the process that started it, %s', async (_where, path) => {
    dataDir = temporaryDataDir();
    const { parent, pid } = await startParent(path(dataDir));
    expect(identifyProcess(pid)).toBeDefined();
    parent.kill('SIGKILL');
    await waitFor(() => identifyProcess(pid) === undefined, { what: 'the end of Redis' });
  });

  it.skipIf(!existsSync('/proc'))(
    'ends also if that process is killed while the guard of Redis is loading',
    async () => {
      dataDir = temporaryDataDir();
      const mark = randomUUID();
      const script = join(dataDir, 'killed-early.mjs');
      writeFileSync(script, KILLED_EARLY);
      const parent = spawn(process.execPath, [script, GUARD, mark], { stdio: 'ignore' });
      await once(parent, 'exit');
      await waitFor(() => !isRunning(mark), { what: 'the end of the guard and its command' });
    },
  );

  it('writes to the disk before it answers, so that acknowledged events survive a loss of power', async () => {
    dataDir = temporaryDataDir();
    await startParent(fullPath());
    const redis = connectRedis(redisSocketUrl(join(dataDir, 'redis.sock'), 'the-secret'));
    try {
      expect(await redis.config('GET', 'append*')).toEqual(
        expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always']),
      );
    } finally {
      redis.disconnect();
    }
  });

  it('that the guard cannot start rejects, and does not end the process that starts it again', async () => {
    dataDir = temporaryDataDir();
    const directory = join(dataDir, 'bin');
    mkdirSync(directory);
    writeFileSync(join(directory, 'redis-server'), '#!/nowhere/sh\n', { mode: 0o755 });
    const script = join(dataDir, 'unable.mjs');
    writeFileSync(script, UNABLE.replace(/^process.execPath = .*$/m, ''));
    const args = [script, dataDir, join(dataDir, 'redis.sock'), directory];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' })).toMatch(/^redis /);
  });

  it('that cannot be started rejects, and does not end the process that starts it again', async () => {
    dataDir = temporaryDataDir();
    const script = join(dataDir, 'unable.mjs');
    writeFileSync(script, UNABLE);
    const args = [script, dataDir, join(dataDir, 'redis.sock'), pathWithout(dataDir)];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' });
    expect(output).toContain('redis cannot be started: spawn /nowhere/node ENOENT');
  });

  it('is not started beside another one on the same data, and takes its place once that has ended', async () => {
    dataDir = temporaryDataDir();
    const first = await startParent(fullPath());
    const second = await startParent(fullPath());
    expect(second.pid).toBe(0);
    expect(second.errors()).toContain('another process listens on');
    expect(identifyProcess(first.pid)).toBeDefined();

    const third = startParent(fullPath());
    first.parent.kill('SIGKILL');
    const { pid } = await third;
    expect(identifyProcess(pid)).toBeDefined();
    expect(identifyProcess(first.pid)).toBeUndefined();
  });
});
