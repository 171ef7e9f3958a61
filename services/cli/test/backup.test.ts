import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BIN, runCommand } from './run-cli.js';

// Backups that end early, of a DATA_DIR without a stack; test/faults/backup.test.ts has those of a running stack.

/** So many that their copy, each of which is flushed to disk, takes much longer than a signal. */
const FILES = 4000;

let directory: string;
let environment: Record<string, string>;

beforeEach(() => {
  directory = temporaryDirectory('waymark-ended-backup-');
  environment = { DATA_DIR: join(directory, 'data') };
  mkdirSync(join(directory, 'data', 'clickhouse'), { recursive: true });
  mkdirSync(join(directory, 'backups'));
  for (let number = 0; number < FILES; number++) {
    writeFileSync(join(directory, 'data', 'clickhouse', `part-${number}`), 'rows');
  }
});
afterEach(() => rmSync(directory, { recursive: true }));

const backups = () => readdirSync(join(directory, 'backups'));

/** Starts a command, sends `signal` once it has begun to copy into `folder`, and waits for its end. */
async function endEarly(signal: 'SIGINT' | 'SIGHUP' | 'SIGKILL', folder: () => string[], ...args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, ...args], { env: environmentWith(environment), stdio: 'pipe' });
  let message = '';
  child.stderr.on('data', (data) => {
    message += data;
  });
  const closed = once(child, 'close');
  const isCopying = () => folder().some((name) => name.includes(String(child.pid)));
  await waitFor(isCopying, { what: 'the copy to begin' });
  child.kill(signal);
  // A terminal that closes sends it twice: the second one may come at any moment of the cleaning up.
  const again = setInterval(() => signal === 'SIGHUP' && isCopying() && child.kill(signal), 1);
  const [code] = await closed;
  clearInterval(again);
  return { code, message };
}

it.each(['SIGINT', 'SIGHUP'] as const)(
  'a backup that is interrupted with %s leaves nothing behind, and says that there is none',
  async (signal) => {
    const ended = await endEarly(signal, backups, 'backup', join(directory, 'backups', 'monday'));
    expect(ended).toMatchObject({ code: 1, message: expect.stringContaining('interrupted, there is no backup') });
    expect(backups()).toEqual([]);
  },
);

it('what a killed backup has left hinders no later backup, and is removed by the first one after an hour', async () => {
  await endEarly('SIGKILL', backups, 'backup', join(directory, 'backups', 'monday'));
  const [left = ''] = backups();
  rmSync(join(directory, 'data', 'clickhouse'), { recursive: true });
  mkdirSync(join(directory, 'data', 'clickhouse'));
  expect((await runCommand(environment, 'backup', join(directory, 'backups', 'monday'))).code).toBe(0);
  expect(backups()).toEqual(['monday', left]);
  for (const folder of ['clickhouse', '']) utimesSync(join(directory, 'backups', left, folder), 0, 0);
  expect((await runCommand(environment, 'backup', join(directory, 'backups', 'tuesday'))).code).toBe(0);
  expect(backups()).toEqual(['monday', 'tuesday']);
});

/** Makes a backup of what DATA_DIR has, and another DATA_DIR that is empty. @returns its path, and that of the backup */
function aBackup(): readonly [restored: string, from: string] {
  const from = join(directory, 'backups', 'monday');
  renameSync(join(directory, 'data'), from);
  writeFileSync(join(from, 'backup.json'), JSON.stringify({ version: 1, startedAt: new Date(0).toISOString() }));
  const restored = join(directory, 'restored');
  mkdirSync(restored);
  environment = { DATA_DIR: restored, INSTANCE_KEY: '07'.repeat(32) };
  return [restored, from];
}

it('a restore that is interrupted leaves DATA_DIR empty', async () => {
  const [restored, from] = aBackup();
  const ended = await endEarly('SIGINT', () => readdirSync(restored), 'restore', from);
  expect(ended).toMatchObject({ code: 1, message: expect.stringContaining('interrupted, nothing is restored') });
  expect(readdirSync(restored)).toEqual([]);
});

it('what a killed restore has left is removed by the next one before it copies, if it is ten minutes old', async () => {
  const [restored, from] = aBackup();
  await endEarly('SIGKILL', () => readdirSync(restored), 'restore', from);
  const [left = ''] = readdirSync(restored);
  expect(left).toMatch(/^restoring\..*\.part$/);
  const refused = { code: 1, stderr: expect.stringContaining(`${left} has changed a short time ago`) };
  expect(await runCommand(environment, 'restore', from)).toMatchObject(refused);
  for (const folder of ['clickhouse', '']) utimesSync(join(restored, left, folder), 0, 0);
  rmSync(join(from, 'clickhouse'), { recursive: true });
  mkdirSync(join(from, 'clickhouse'));
  expect(await runCommand(environment, 'restore', from)).toMatchObject({ code: 0 });
  expect(readdirSync(restored).sort()).toEqual(['clickhouse', 'restored.json']);
});

it('a restore of a backup whose manifest is cut off says that the backup is damaged', async () => {
  const from = join(directory, 'data');
  writeFileSync(join(from, 'backup.json'), '{"version":1');
  const { code, stderr } = await runCommand({ DATA_DIR: join(directory, 'restored') }, 'restore', from);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${from} is damaged`) });
});
