import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createKeyFile, readKeyFile } from './key-file.js';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';
import { ADMIN_KEY_MESSAGE, ADMIN_KEY_PATTERN } from './value-types.js';

const KEY_BYTES = 32;

/** The file in `dataDir` that holds the admin key when ADMIN_KEY is not set. */
export function adminKeyFile(dataDir: string): string {
  return join(dataDir, 'admin.key');
}

/**
 * The key that protects operator pages such as `/ops`: ADMIN_KEY, else the file in DATA_DIR. Undefined when there is neither; those
 * pages are then closed to everyone.
 *
 * @throws SettingsError when the content of the file is not a valid key
 */
export function readAdminKey(settings: Pick<Settings, 'adminKey' | 'dataDir'>): string | undefined {
  if (settings.adminKey !== undefined) return settings.adminKey;
  const file = adminKeyFile(settings.dataDir);
  const key = readKeyFile(file);
  if (key !== undefined && !ADMIN_KEY_PATTERN.test(key)) throw new SettingsError([`${file}: ${ADMIN_KEY_MESSAGE}`]);
  return key;
}

/** Creates the admin key file of `dataDir` on the first start; later starts keep the existing key. */
export function ensureAdminKey(dataDir: string): void {
  if (readAdminKey({ adminKey: undefined, dataDir }) !== undefined) return;
  createKeyFile(adminKeyFile(dataDir), randomBytes(KEY_BYTES).toString('base64url'));
}
