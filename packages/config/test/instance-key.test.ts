import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensureInstanceKey, readInstanceKey, SettingsError } from '../src/index.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waymark-key-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it('creates a key file that only its owner can read, and keeps an existing one', () => {
  const nested = join(dataDir, 'not', 'yet', 'there');
  const key = ensureInstanceKey(nested);
  expect(key).toHaveLength(32);
  expect(statSync(join(nested, 'instance.key')).mode & 0o777).toBe(0o600);
  expect(readdirSync(nested)).toEqual(['instance.key']);
  expect(ensureInstanceKey(nested)).toEqual(key);
  expect(readInstanceKey({ instanceKey: undefined, dataDir: nested })).toEqual(key);
});

it('the environment wins over the file', () => {
  ensureInstanceKey(dataDir);
  expect(readInstanceKey({ instanceKey: 'Ab'.repeat(32), dataDir }).toString('hex')).toBe('ab'.repeat(32));
});

it('names the missing setting when there is no key', () => {
  expect(() => readInstanceKey({ instanceKey: undefined, dataDir })).toThrow(/INSTANCE_KEY: is required/);
});

it('rejects a damaged file instead of creating a second key', () => {
  writeFileSync(join(dataDir, 'instance.key'), 'abc');
  expect(() => ensureInstanceKey(dataDir)).toThrow(SettingsError);
  expect(readFileSync(join(dataDir, 'instance.key'), 'utf8')).toBe('abc');
});

it('processes that start at the same time use the same key', async () => {
  const source = fileURLToPath(new URL('../dist/instance-key.js', import.meta.url));
  const script = `import(${JSON.stringify(source)}).then(({ ensureInstanceKey }) => console.log(ensureInstanceKey(${JSON.stringify(dataDir)}).toString('hex')))`;
  const runs = await Promise.all(
    Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ['-e', script])),
  );
  expect(new Set(runs.map(({ stdout }) => stdout.trim()))).toEqual(
    new Set([ensureInstanceKey(dataDir).toString('hex')]),
  );
  expect(readdirSync(dataDir)).toEqual(['instance.key']);
});
