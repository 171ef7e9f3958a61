import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  adminKeyFile,
  ensureAdminKey,
  previousAdminKeyFile,
  readAdminKeys,
  rotateAdminKey,
  SettingsError,
} from '../src/index.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waymark-key-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const keysOf = (settings: { readonly adminKey?: string; readonly adminKeyPrevious?: string } = {}) =>
  readAdminKeys({ adminKey: undefined, adminKeyPrevious: undefined, dataDir, ...settings });

it('creates a key file that only its owner can read, and keeps an existing one', () => {
  ensureAdminKey(dataDir);
  const [key = ''] = keysOf();
  expect(key.length).toBeGreaterThanOrEqual(32);
  expect(statSync(adminKeyFile(dataDir)).mode & 0o777).toBe(0o600);
  ensureAdminKey(dataDir);
  expect(keysOf()).toEqual([key]);
});

it('the environment takes precedence over the file, and without either there is no key', () => {
  expect(keysOf()).toEqual([]);
  ensureAdminKey(dataDir);
  expect(keysOf({ adminKey: 'k'.repeat(32) })).toEqual(['k'.repeat(32)]);
});

it('rejects a file without a valid key instead of replacing the key or accepting a short one', () => {
  writeFileSync(adminKeyFile(dataDir), 'short');
  expect(() => keysOf()).toThrow(SettingsError);
  expect(() => ensureAdminKey(dataDir)).toThrow(SettingsError);
  expect(() => rotateAdminKey(dataDir)).toThrow(SettingsError);
  expect(readFileSync(adminKeyFile(dataDir), 'utf8')).toBe('short');
});

it('a previous key is accepted beside the current one; without it, or if both are the same, the error names the setting', () => {
  const [adminKey, adminKeyPrevious] = ['k'.repeat(32), 'p'.repeat(32)];
  expect(keysOf({ adminKey, adminKeyPrevious })).toEqual([adminKey, adminKeyPrevious]);
  expect(() => keysOf({ adminKeyPrevious })).toThrow(/ ADMIN_KEY_PREVIOUS: needs ADMIN_KEY/);
  expect(() => keysOf({ adminKey, adminKeyPrevious: adminKey })).toThrow(/ ADMIN_KEY_PREVIOUS: must be another key/);
});

it('a rotation of the file keeps the current key as the previous one, until its file is removed', () => {
  ensureAdminKey(dataDir);
  const [old = ''] = keysOf();
  rotateAdminKey(dataDir);
  const [current = '', previous] = keysOf();
  expect([current === old, previous]).toEqual([false, old]);
  expect(statSync(previousAdminKeyFile(dataDir)).mode & 0o777).toBe(0o600);
  expect(() => rotateAdminKey(dataDir)).toThrow(/admin-previous\.key: has the key of an earlier rotation/);
  rmSync(previousAdminKeyFile(dataDir));
  expect(keysOf()).toEqual([current]);
});
