import assert from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { startRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

/** Runs the commands for Redis of docs/production.md, "Backup". */

const ROOT = join(import.meta.dirname, '../..');
const [, BACKUP = ''] =
  /\n## Backup\n([\s\S]+?)\n## /.exec(readFileSync(join(ROOT, 'docs/production.md'), 'utf8')) ?? [];
const KEYS = 2_000;

/** The only command of the page that begins like this. */
function command(beginning: string): string {
  const found = BACKUP.split('\n').filter((line) => line.trim().startsWith(beginning));
  expect(found).toHaveLength(1);
  return found[0]?.trim() ?? '';
}

let folder: string;
let copy: string;
/** By the command for Compose. */
let composeCopy: string;

/** @param interrupt ends the command as Ctrl-C does; called with what does this */
function run(
  text: string,
  env: Record<string, string> = {},
  interrupted?: (interrupt: () => void) => void,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', text], {
      cwd: ROOT,
      env: environmentWith(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    interrupted?.(() => {
      // Without an id, or with 0, the signal would end the test run.
      assert(child.pid);
      process.kill(-child.pid, 'SIGINT');
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** An empty data directory. */
function anEmptyDirectory(): string {
  const directory = temporaryDirectory('waymark-restored-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** The command of the page, as this user. */
const restore = (
  from: string,
  directory: string,
  env?: Record<string, string>,
  interrupted?: Parameters<typeof run>[2],
) =>
  run(
    command('runuser')
      .replace('runuser -u redis -- ', '')
      .replace('/var/lib/waymark.rdb', from)
      .replace('/var/lib/redis', directory),
    env,
    interrupted,
  );

/** A PATH with a redis-server that has further arguments. */
const redisServerWith = (...args: readonly string[]) => redisServerAfter(':', args);

/** @param command runs before the server, in its shell */
function redisServerAfter(command: string, args: readonly string[] = []): Record<string, string> {
  const bin = anEmptyDirectory();
  const real = execFileSync('sh', ['-c', 'command -v redis-server'], { encoding: 'utf8' }).trim();
  writeFileSync(join(bin, 'redis-server'), `#!/bin/sh\n${command}\nexec ${real} "$@" ${args.join(' ')}\n`);
  chmodSync(join(bin, 'redis-server'), 0o755);
  return { PATH: `${bin}${delimiter}${environmentWith({}).PATH}` };
}

/** How many keys a Redis with our settings has that is started with the directory. */
async function keysIn(directory: string): Promise<number> {
  const server = await startRedis({ dataDir: directory });
  const redis = new Redis(server.url);
  try {
    expect(await redis.get('key 1999')).toBe('a value 1999'.repeat(20));
    return await redis.dbsize();
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

beforeAll(async () => {
  folder = temporaryDirectory('waymark-copy-');
  const server = await startRedis({ args: [] });
  const redis = new Redis(server.url);
  const keys = Array.from({ length: KEYS }, (_, key) => [`key ${key}`, `a value ${key}`.repeat(20)]);
  await redis.mset(...keys.flat());
  await redis.select(1);
  await redis.set('of another database', 1);
  await redis.config('SET', 'requirepass', 'secret');
  redis.disconnect();
  copy = join(folder, 'waymark.rdb');
  const take = command('(umask 077 && REDISCLI_AUTH=')
    .replace('REDISCLI_AUTH=…', 'REDISCLI_AUTH=secret')
    .replace('-h redis.acme.com', `-p ${server.port}`)
    .replace('waymark.rdb', copy);
  // With the mask that most systems have.
  const { code, output } = await run(`umask 022 && ${take}`);
  expect([code, output]).toEqual([0, expect.stringContaining('Transfer finished with success')]);
  composeCopy = join(folder, 'compose.rdb');
  const takeFromContainer = command('(umask 077 && docker compose exec')
    .replace('docker compose exec -T redis redis-cli', `REDISCLI_AUTH=secret redis-cli -p ${server.port}`)
    .replaceAll('waymark.rdb', composeCopy);
  expect(await run(`umask 022 && ${takeFromContainer}`)).toMatchObject({ code: 0 });
  await server.stop();
  const before = readFileSync(composeCopy);
  expect((await run(takeFromContainer)).code).not.toBe(0);
  // A copy of before stays while the server is away.
  expect(readFileSync(composeCopy).equals(before)).toBe(true);
});
afterAll(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

it('no other user of the machine can read a copy, nor the one that the user of Redis gets', async () => {
  expect([copy, composeCopy].map(modeOf)).toEqual(['600', '600']);
  const given = join(anEmptyDirectory(), 'given.rdb');
  const give = command('install -o redis').replace('-o redis -g redis ', '').replace('/var/lib/waymark.rdb', given);
  expect(await run(`umask 022 && ${give.replace(' waymark.rdb', ` ${copy}`)}`)).toMatchObject({ code: 0 });
  expect(modeOf(given)).toBe('600');
});

it('a Redis with appendonly yes has everything that is in the copy, and nothing keeps the dump', async () => {
  const directory = anEmptyDirectory();
  const { code, output } = await restore(copy, directory, { REDISCLI_AUTH: 'of another server' });
  expect([code, output]).toEqual([0, expect.stringContaining(`restored ${KEYS + 1} keys\n`)]);
  expect(readdirSync(directory)).toEqual(['appendonlydir']);
  expect(await keysIn(directory)).toBe(KEYS);
});

it('the copy of the command for Compose, which leaves no file in the container, has everything too', async () => {
  const directory = anEmptyDirectory();
  const { code, output } = await restore(composeCopy, directory);
  expect([code, output]).toEqual([0, expect.stringContaining(`restored ${KEYS + 1} keys\n`)]);
});

it('a copy that takes its time to load is awaited', async () => {
  const directory = anEmptyDirectory();
  const slowly = redisServerWith('--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024');
  expect(await restore(copy, directory, slowly)).toMatchObject({ code: 0 });
  expect(await keysIn(directory)).toBe(KEYS);
});

it.each([
  ['the copy is cut off', () => ({}), true, 'has ended'],
  ['no log may be written', () => redisServerWith('--rename-command', 'CONFIG', "''"), false, 'refuses'],
  ['the disk has no room for the log', () => redisServerAfter('ulimit -f 1'), false, 'could not write'],
  ['Redis is older', () => redisServerWith('--appenddirname', 'elsewhere'), false, 'Redis 7 or later is needed'],
  ['the server ends at once', () => redisServerWith('--no-such-setting', 'yes'), false, 'has ended'],
])('if %s, nothing is removed but what the command has made', async (_what, env, isCut, why) => {
  const directory = anEmptyDirectory();
  const given = join(anEmptyDirectory(), 'copy.rdb');
  copyFileSync(copy, given);
  if (isCut) truncateSync(given, readFileSync(copy).length / 2);
  const before = readFileSync(given);
  const { code, output } = await restore(given, directory, env());
  expect(code).not.toBe(0);
  expect(output).toContain(why);
  expect(output).toContain(`nothing is restored: ${directory} is as it was`);
  expect(readdirSync(directory)).toEqual([]);
  expect(readFileSync(given).equals(before)).toBe(true);
});

it('interrupted while it writes the log, it leaves nothing behind', async () => {
  const directory = anEmptyDirectory();
  let interrupt = () => {};
  const ended = restore(copy, directory, redisServerWith('--rdb-key-save-delay', '5000'), (by) => {
    interrupt = by;
  });
  const isWriting = async () =>
    readdirSync(directory, { recursive: true }).some((name) => String(name).includes('temp-rewriteaof'));
  await waitFor(isWriting, { what: 'the log to be written' });
  expect(readdirSync(directory)).toEqual([expect.stringMatching(/^restoring-/)]);
  interrupt();
  const { code, output } = await ended;
  expect(code).not.toBe(0);
  expect(output).toContain(`nothing is restored: ${directory} is as it was`);
  expect(readdirSync(directory)).toEqual([]);
});

it.each(['dump.rdb', 'appendonlydir', 'appendonly.aof', 'restoring-AbCdEf'])(
  'a directory that has a %s is left as it is',
  async (name) => {
    const directory = anEmptyDirectory();
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'a'), 'data');
    const { code, output } = await restore(copy, directory);
    expect([code, output]).toEqual([1, expect.stringMatching(/^nothing is restored: .+\n$/)]);
    expect(output).toContain(name);
    expect(readFileSync(join(directory, name, 'a'), 'utf8')).toBe('data');
  },
);

it('the command for Compose runs the same script, on the volume of its Redis', () => {
  const compose = command('docker compose run --rm --no-deps -v');
  const script = /--entrypoint sh redis (\S+) (\S+) (\S+)$/.exec(compose)?.slice(1) ?? [];
  expect(script).toEqual(['/restore/restore.sh', '/waymark.rdb', '/data']);
  expect(compose).toContain('-v "$PWD/deploy/redis:/restore:ro"');
  expect(compose).toContain('-v "$PWD/waymark.rdb:/waymark.rdb:ro"');
  expect(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')).toContain('- redis-data:/data\n');
});
