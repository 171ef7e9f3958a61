import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createKeyFile, readKeyFile } from './key-file.js';
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

function readInstanceKeyFile(dataDir: string): Buffer | undefined {
  const file = instanceKeyFile(dataDir);
  const text = readKeyFile(file);
  return text === undefined ? undefined : parseKey(text, file);
}

/**
 * The key that encrypts link passwords and salts visitor identities: INSTANCE_KEY, else the file in DATA_DIR.
 *
 * @throws SettingsError when there is neither
 */
export function readInstanceKey(settings: Pick<Settings, 'instanceKey' | 'dataDir'>): Buffer {
  if (settings.instanceKey !== undefined) return parseKey(settings.instanceKey, 'INSTANCE_KEY');
  const key = readInstanceKeyFile(settings.dataDir);
  if (key === undefined) {
    throw new SettingsError([`INSTANCE_KEY: is required, as there is no ${instanceKeyFile(settings.dataDir)}`]);
  }
  return key;
}

/** The key in `dataDir`, created on the first start. If it is lost, stored link passwords can no longer be decrypted. */
export function ensureInstanceKey(dataDir: string): Buffer {
  const existing = readInstanceKeyFile(dataDir);
  if (existing !== undefined) return existing;
  createKeyFile(instanceKeyFile(dataDir), randomBytes(KEY_BYTES).toString('hex'));
  return readInstanceKey({ instanceKey: undefined, dataDir });
}
