import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { adminKeyFile, ensureAdminKey, readAdminKey, SettingsError } from '../src/index.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waymark-key-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it('creates a key file that only its owner can read, and keeps an existing one', () => {
  ensureAdminKey(dataDir);
  const key = readAdminKey({ adminKey: undefined, dataDir }) ?? '';
  expect(key.length).toBeGreaterThanOrEqual(32);
  expect(statSync(adminKeyFile(dataDir)).mode & 0o777).toBe(0o600);
  ensureAdminKey(dataDir);
  expect(readAdminKey({ adminKey: undefined, dataDir })).toBe(key);
});

it('the environment wins over the file, and without either there is no key', () => {
  expect(readAdminKey({ adminKey: undefined, dataDir })).toBeUndefined();
  ensureAdminKey(dataDir);
  expect(readAdminKey({ adminKey: 'k'.repeat(32), dataDir })).toBe('k'.repeat(32));
});

it('rejects a file without a valid key instead of replacing the key or accepting a short one', () => {
  writeFileSync(adminKeyFile(dataDir), 'short');
  expect(() => readAdminKey({ adminKey: undefined, dataDir })).toThrow(SettingsError);
  expect(() => ensureAdminKey(dataDir)).toThrow(SettingsError);
  expect(readFileSync(adminKeyFile(dataDir), 'utf8')).toBe('short');
});
