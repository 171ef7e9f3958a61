import { rmSync, statSync, writeFileSync } from 'node:fs';
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
  createDataDir(dataDir);
});

test('a directory that cannot be used is named together with its setting', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  const dataDir = join(file, 'waymark');
  expect(() => createDataDir(dataDir)).toThrow(/^DATA_DIR .*waymark cannot be used.* \(ENOTDIR\): .*set DATA_DIR/);
});
