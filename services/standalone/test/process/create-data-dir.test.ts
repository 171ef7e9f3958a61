import { chmodSync, chownSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, expect, test } from 'vitest';
import { createDataDir } from '../../src/data-dir/create-data-dir.js';

const root = temporaryDirectory('waymark-data-dir-');
afterAll(() => rmSync(root, { recursive: true }));

test('the directory is created for its owner alone, and one that exists stays as it is', () => {
  const dataDir = join(root, 'var', 'waymark');
  createDataDir(dataDir);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  chmodSync(dataDir, 0o755);
  const file = join(dataDir, 'a-file');
  writeFileSync(file, 'of the operator');
  createDataDir(dataDir);
  expect([statSync(dataDir).mode & 0o777, readFileSync(file, 'utf8')]).toEqual([0o755, 'of the operator']);
});

test('a directory that cannot be used is named together with its setting', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  const dataDir = join(file, 'waymark');
  expect(() => createDataDir(dataDir)).toThrow(/^DATA_DIR .*waymark cannot be used.* \(ENOTDIR\): .*set DATA_DIR/);
});

test.runIf(process.getuid?.() === 0)('a directory or a key of another user is refused, and left as it is', () => {
  const dataDir = join(root, 'shared');
  createDataDir(dataDir);
  const key = join(dataDir, 'admin.key');
  writeFileSync(key, 'planted', { mode: 0o600 });
  createDataDir(dataDir);
  chownSync(key, 65_534, 65_534);
  expect(() => createDataDir(dataDir)).toThrow(
    `user 65534 owns ${key}, and this is user 0. Start Waymark as that user`,
  );
  chownSync(key, 0, 0);
  chownSync(dataDir, 65_534, 65_534);
  expect(() => createDataDir(dataDir)).toThrow(`user 65534 owns ${dataDir}, and`);
});
