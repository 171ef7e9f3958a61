import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataDirInUseError, lockDataDir } from '../../src/data-dir/data-dir-lock.js';
import { identifyProcess } from '../../src/process-identity.js';

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
