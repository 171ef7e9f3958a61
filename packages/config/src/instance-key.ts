import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';

const KEY_BYTES = 32;

function instanceKeyFile(dataDir: string): string {
  return join(dataDir, 'instance.key');
}

function parseKey(text: string, origin: string): Buffer {
  const digits = text.trim();
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new SettingsError([`${origin}: must be 64 hexadecimal digits`]);
  return Buffer.from(digits, 'hex');
}

function readKeyFile(dataDir: string): Buffer | undefined {
  const file = instanceKeyFile(dataDir);
  try {
    return parseKey(readFileSync(file, 'utf8'), file);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/**
 * The key that encrypts link passwords and salts identities: INSTANCE_KEY, else the file in DATA_DIR.
 *
 * @throws SettingsError when there is neither
 */
export function readInstanceKey(settings: Pick<Settings, 'instanceKey' | 'dataDir'>): Buffer {
  if (settings.instanceKey !== undefined) return parseKey(settings.instanceKey, 'INSTANCE_KEY');
  const key = readKeyFile(settings.dataDir);
  if (key === undefined) {
    throw new SettingsError([`INSTANCE_KEY: is required, as there is no ${instanceKeyFile(settings.dataDir)}`]);
  }
  return key;
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * The key in `dataDir`, made at the first start. A kill in the middle leaves no half key, and of two starts at once
 * one makes it and both use it: losing the key would make every stored link password unreadable.
 */
export function ensureInstanceKey(dataDir: string): Buffer {
  const existing = readKeyFile(dataDir);
  if (existing !== undefined) return existing;

  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = instanceKeyFile(dataDir);
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(draft, file);
    syncDirectory(dataDir);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
  } finally {
    rmSync(draft, { force: true });
  }
  return readInstanceKey({ instanceKey: undefined, dataDir });
}
