import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { startRedis, temporaryDirectory } from '@waymark/test-kit';
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

function run(text: string, env: Record<string, string> = {}): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', text], {
      cwd: ROOT,
      env: environmentWith(env),
      stdio: ['ignore', 'pipe', 'pipe'],
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
const restore = (from: string, directory: string, env?: Record<string, string>) =>
  run(
    command('runuser')
      .replace('runuser -u redis -- ', '')
      .replace('waymark.rdb', from)
      .replace('/var/lib/redis', directory),
    env,
  );

/** A PATH with a redis-server that has further arguments. */
function redisServerWith(...args: readonly string[]): Record<string, string> {
  const bin = anEmptyDirectory();
  const real = execFileSync('sh', ['-c', 'command -v redis-server'], { encoding: 'utf8' }).trim();
  writeFileSync(join(bin, 'redis-server'), `#!/bin/sh\nexec ${real} "$@" ${args.join(' ')}\n`);
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
  await redis.config('SET', 'requirepass', 'secret');
  redis.disconnect();
  copy = join(folder, 'waymark.rdb');
  const take = command('REDISCLI_AUTH=')
    .replace('REDISCLI_AUTH=…', 'REDISCLI_AUTH=secret')
    .replace('-h redis.acme.com', `-p ${server.port}`)
    .replace('waymark.rdb', copy);
  const { code, output } = await run(take);
  expect([code, output]).toEqual([0, expect.stringContaining('Transfer finished with success')]);
  await server.stop();
});
afterAll(() => rmSync(folder, { recursive: true }));

it('a Redis with appendonly yes has everything that is in the copy, and nothing keeps the dump', async () => {
  const directory = anEmptyDirectory();
  const { code, output } = await restore(copy, directory, { REDISCLI_AUTH: 'of another server' });
  expect([code, output]).toEqual([0, expect.stringContaining(`restored ${KEYS} keys\n`)]);
  expect(readdirSync(directory)).toEqual(['appendonlydir']);
  expect(await keysIn(directory)).toBe(KEYS);
});

it('a copy that takes its time to load is awaited', async () => {
  const directory = anEmptyDirectory();
  const slowly = redisServerWith('--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024');
  expect(await restore(copy, directory, slowly)).toMatchObject({ code: 0 });
  expect(await keysIn(directory)).toBe(KEYS);
});

it.each([
  ['the copy is cut off', () => ({}), true],
  ['the log cannot be written', () => redisServerWith('--rename-command', 'CONFIG', "''"), false],
  ['the server ends at once', () => redisServerWith('--no-such-setting', 'yes'), false],
])('if %s, nothing is removed but what the command has made', async (_what, env, isCut) => {
  const directory = anEmptyDirectory();
  const given = join(anEmptyDirectory(), 'copy.rdb');
  copyFileSync(copy, given);
  if (isCut) truncateSync(given, readFileSync(copy).length / 2);
  const before = readFileSync(given);
  const { code, output } = await restore(given, directory, env());
  expect(code).not.toBe(0);
  expect(output).toContain(`nothing is restored: ${directory} is as it was`);
  expect(readdirSync(directory)).toEqual([]);
  expect(readFileSync(given).equals(before)).toBe(true);
});

it.each(['dump.rdb', 'appendonlydir', 'appendonly.aof'])('a directory that has a %s is left as it is', async (name) => {
  const directory = anEmptyDirectory();
  mkdirSync(join(directory, name));
  writeFileSync(join(directory, name, 'a'), 'data');
  const { code, output } = await restore(copy, directory);
  expect([code, output]).toEqual([1, `nothing is restored: ${directory} has a ${name}. Move it away first\n`]);
  expect(readFileSync(join(directory, name, 'a'), 'utf8')).toBe('data');
});

it('the command for Compose runs the same script, on the volume of its Redis', () => {
  const compose = command('docker compose run --rm --no-deps -v');
  const script = /--entrypoint sh redis (\S+) (\S+) (\S+)$/.exec(compose)?.slice(1) ?? [];
  expect(script).toEqual(['/restore/restore.sh', '/waymark.rdb', '/data']);
  expect(compose).toContain('-v "$PWD/deploy/redis:/restore:ro"');
  expect(compose).toContain('-v "$PWD/waymark.rdb:/waymark.rdb:ro"');
  expect(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')).toContain('- redis-data:/data\n');
});
