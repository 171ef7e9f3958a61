import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataDirInUseError, lockDataDir } from '../src/data-dir-lock.js';
import { identifyProcess, type ProcessIdentity } from '../src/process-identity.js';

const ROUNDS = 200;
const RACERS = 3;
const DEAD: ProcessIdentity = { pid: 1, started: 'another time' };
const lockOf = (supervisor?: ProcessIdentity) => JSON.stringify({ supervisor, children: [] });
const LOCK_MODULE = new URL('../dist/data-dir-lock.js', import.meta.url).href;
/** Takes the lock of one directory after the other, each at a moment that all racers share, and prints what happened. */
const RACE = `
import { lockDataDir } from ${JSON.stringify(LOCK_MODULE)};
const directories = JSON.parse(process.argv[1]);
process.once('message', (startsAt) => {
  const answers = directories.map((directory, round) => {
    while (Date.now() < startsAt + 2 * round);
    try {
      lockDataDir(directory);
      return 'taken';
    } catch (err) {
      return err.name === 'DataDirInUseError' ? err.name : String(err);
    }
  });
  process.send(answers);
  process.once('message', () => process.exit());
});
process.send('ready');
`;

/** A process that races for the locks. It lives until all have answered, because the lock of a process that has ended is free. */
async function startRacer(directories: readonly string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', RACE, JSON.stringify(directories)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return {
    async race(startsAt: number): Promise<string[]> {
      const answered = once(child, 'message');
      child.send(startsAt);
      return (await answered)[0];
    },
    async end() {
      const ended = once(child, 'exit');
      child.send('end');
      await ended;
    },
  };
}

describe('the lock of a data directory', () => {
  let dataDir: string;
  const lockFile = () => join(dataDir, 'run', 'supervisor.lock');
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'waymark-lock-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('refuses a second supervisor, and names the first in the error', () => {
    const lock = lockDataDir(dataDir);
    expect(() => lockDataDir(dataDir)).toThrow(DataDirInUseError);
    expect(() => lockDataDir(dataDir)).toThrow(new RegExp(`process ${process.pid}`));
    lock.release();
    lockDataDir(dataDir).release();
  });

  it('is given to one of several supervisors that start at the same moment, with no lock or that of a dead one', async () => {
    const directories = Array.from({ length: 2 * ROUNDS }, (_, round) => join(dataDir, String(round)));
    for (const [round, directory] of directories.entries()) {
      mkdirSync(join(directory, 'run'), { recursive: true });
      if (round % 2 === 1) writeFileSync(join(directory, 'run', 'supervisor.lock'), lockOf(DEAD));
    }
    const racers = await Promise.all(Array.from({ length: RACERS }, () => startRacer(directories)));
    const startsAt = Date.now() + 100;
    const answers = await Promise.all(racers.map((racer) => racer.race(startsAt)));
    await Promise.all(racers.map((racer) => racer.end()));
    const failures = answers.flat().filter((text) => text !== 'taken' && text !== 'DataDirInUseError');
    expect(failures).toEqual([]);
    const winners = directories.map((_, round) => answers.filter((taken) => taken[round] === 'taken').length);
    expect(winners).toEqual(directories.map(() => 1));
    const left = new Set(directories.flatMap((directory) => readdirSync(join(directory, 'run'))));
    expect(left).toEqual(new Set(['supervisor.lock']));
  });

  it('of a dead supervisor is left alone while another start takes it over, and free if that one dies', () => {
    const takeover = `${lockFile()}.takeover`;
    mkdirSync(join(dataDir, 'run'));
    writeFileSync(lockFile(), lockOf(DEAD));
    writeFileSync(takeover, lockOf(identifyProcess(process.pid)));
    expect(() => lockDataDir(dataDir)).toThrow(DataDirInUseError);
    expect(readdirSync(join(dataDir, 'run')).sort()).toEqual(['supervisor.lock', 'supervisor.lock.takeover']);
    writeFileSync(takeover, lockOf(DEAD));
    const lock = lockDataDir(dataDir);
    expect(() => lockDataDir(dataDir)).toThrow(DataDirInUseError);
    expect(readdirSync(join(dataDir, 'run'))).toEqual(['supervisor.lock']);
    lock.release();
  });

  it('is taken over when its pid has been reused by another process', () => {
    lockDataDir(dataDir);
    const stale = { supervisor: { pid: process.pid, started: 'another time' }, children: [] };
    writeFileSync(lockFile(), JSON.stringify(stale));
    lockDataDir(dataDir).release();
  });

  it('is taken over when its file is incomplete', () => {
    lockDataDir(dataDir);
    writeFileSync(lockFile(), '{"superv');
    lockDataDir(dataDir).release();
  });

  it('lists the children of a dead supervisor that still run, but no process that has reused a pid', () => {
    lockDataDir(dataDir);
    const self = identifyProcess(process.pid);
    const children = [self, { pid: process.ppid, started: 'another time' }];
    writeFileSync(lockFile(), JSON.stringify({ supervisor: { pid: 1, started: 'never' }, children }));
    expect(lockDataDir(dataDir).leftovers).toEqual([self]);
  });

  it('removes access of other users to data and keys, in case a copy of the directory allows it', () => {
    const names = ['redis', 'clickhouse', 'logs', 'spool', 'run', 'exports', 'imports'];
    const folders = names.map((name) => join(dataDir, name));
    for (const folder of folders) mkdirSync(folder);
    const keys = ['admin.key', 'instance.key', 'first-api.key'].map((name) => join(dataDir, name));
    for (const key of keys) writeFileSync(key, 'key');
    for (const path of [...folders, ...keys]) chmodSync(path, 0o755);
    lockDataDir(dataDir).release();
    expect([...folders, ...keys].filter((path) => (statSync(path).mode & 0o077) !== 0)).toEqual([]);
  });
});
