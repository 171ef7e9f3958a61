import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createKeyFile, readKeyFile, rotateKeyFile } from './key-file.js';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';
import { ADMIN_KEY_MESSAGE, ADMIN_KEY_PATTERN } from './value-types.js';

const KEY_BYTES = 32;

/** The file in `dataDir` that holds the admin key when ADMIN_KEY is not set. */
export function adminKeyFile(dataDir: string): string {
  return join(dataDir, 'admin.key');
}

/** The file in `dataDir` that holds the previous admin key during a rotation. */
export function previousAdminKeyFile(dataDir: string): string {
  return join(dataDir, 'admin-previous.key');
}

/** The key in a file; undefined when the file does not exist. @throws SettingsError for an invalid key */
function keyIn(file: string): string | undefined {
  const key = readKeyFile(file);
  if (key !== undefined && !ADMIN_KEY_PATTERN.test(key)) throw new SettingsError([`${file}: ${ADMIN_KEY_MESSAGE}`]);
  return key;
}

/**
 * The keys that open operator pages such as `/ops`: ADMIN_KEY and ADMIN_KEY_PREVIOUS, else the files in DATA_DIR. Without any, those
 * pages are closed to everyone.
 *
 * @returns the current key, and during a rotation the previous one
 * @throws SettingsError when a file has no valid key, when both keys are the same, or when there is a previous key and no current one
 */
export function readAdminKeys(
  settings: Pick<Settings, 'adminKey' | 'adminKeyPrevious' | 'dataDir'>,
): readonly string[] {
  const { adminKey, adminKeyPrevious, dataDir } = settings;
  const current = adminKey ?? keyIn(adminKeyFile(dataDir));
  const previous = adminKeyPrevious ?? (adminKey === undefined ? keyIn(previousAdminKeyFile(dataDir)) : undefined);
  const origin = adminKeyPrevious === undefined ? previousAdminKeyFile(dataDir) : 'ADMIN_KEY_PREVIOUS';
  if (previous === undefined) return current === undefined ? [] : [current];
  if (current === undefined) throw new SettingsError([`${origin}: needs ADMIN_KEY, or ${adminKeyFile(dataDir)}`]);
  if (previous === current) throw new SettingsError([`${origin}: must be another key than the admin key`]);
  return [current, previous];
}

const newKey = () => randomBytes(KEY_BYTES).toString('base64url');

/** Creates the admin key file of `dataDir` on the first start; later starts keep the existing key. */
export function ensureAdminKey(dataDir: string): void {
  if (keyIn(adminKeyFile(dataDir)) === undefined) createKeyFile(adminKeyFile(dataDir), newKey());
}

/**
 * Creates a new admin key in `dataDir`; the current one becomes the previous one.
 *
 * @throws SettingsError when there is no key, or the previous key of an earlier rotation has not been removed
 */
export function rotateAdminKey(dataDir: string): void {
  // Throws if the current key is invalid.
  keyIn(adminKeyFile(dataDir));
  rotateKeyFile({ file: adminKeyFile(dataDir), previousFile: previousAdminKeyFile(dataDir), key: newKey() });
}
