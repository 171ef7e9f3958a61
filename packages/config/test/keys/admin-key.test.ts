import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { adminKeyFiles, readAdminKeys } from '../../src/index.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waymark-key-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const keysOf = (settings: { readonly adminKey?: string; readonly adminKeyPrevious?: string } = {}) =>
  readAdminKeys({ adminKey: undefined, adminKeyPrevious: undefined, dataDir, ...settings });

it('the environment takes precedence over the file, and without either there is no key', () => {
  expect(keysOf()).toEqual([]);
  adminKeyFiles.ensure(dataDir);
  expect(keysOf({ adminKey: 'k'.repeat(32) })).toEqual(['k'.repeat(32)]);
});

it('a previous key is accepted beside the current one; without it, or if both are the same, the error names the setting', () => {
  const [adminKey, adminKeyPrevious] = ['k'.repeat(32), 'p'.repeat(32)];
  expect(keysOf({ adminKey, adminKeyPrevious })).toEqual([adminKey, adminKeyPrevious]);
  expect(() => keysOf({ adminKeyPrevious })).toThrow(/ ADMIN_KEY_PREVIOUS: needs ADMIN_KEY/);
  expect(() => keysOf({ adminKey, adminKeyPrevious: adminKey })).toThrow(/ ADMIN_KEY_PREVIOUS: must be another key/);
});

it('a file of a previous key opens nothing beside ADMIN_KEY', () => {
  writeFileSync(adminKeyFiles.previousFileIn(dataDir), 'p'.repeat(43));
  expect(keysOf({ adminKey: 'k'.repeat(32) })).toEqual(['k'.repeat(32)]);
});
