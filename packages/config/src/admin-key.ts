import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeKeyFile, readKeyFile } from './key-file.js';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';
import { ADMIN_KEY_MESSAGE, ADMIN_KEY_PATTERN } from './value-types.js';

const KEY_BYTES = 32;

/** Where the admin key of `dataDir` is when ADMIN_KEY is not set. */
export function adminKeyFile(dataDir: string): string {
  return join(dataDir, 'admin.key');
}

/**
 * The key to what operators see: ADMIN_KEY, else the file in DATA_DIR. Undefined when there is neither: nobody has it then.
 *
 * @throws SettingsError when the file holds no key
 */
export function readAdminKey(settings: Pick<Settings, 'adminKey' | 'dataDir'>): string | undefined {
  if (settings.adminKey !== undefined) return settings.adminKey;
  const file = adminKeyFile(settings.dataDir);
  const key = readKeyFile(file);
  if (key !== undefined && !ADMIN_KEY_PATTERN.test(key)) throw new SettingsError([`${file}: ${ADMIN_KEY_MESSAGE}`]);
  return key;
}

/** Makes the admin key of `dataDir` at the first start. */
export function ensureAdminKey(dataDir: string): void {
  if (readAdminKey({ adminKey: undefined, dataDir }) !== undefined) return;
  makeKeyFile(adminKeyFile(dataDir), randomBytes(KEY_BYTES).toString('base64url'));
}
