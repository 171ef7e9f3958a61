import type { Settings } from '../settings.js';
import { SettingsError } from '../settings-error.js';
import { ADMIN_KEY_MESSAGE, ADMIN_KEY_PATTERN } from '../value-types.js';
import { createKeyFiles } from './key-file.js';

/** The files of the admin key. */
export const adminKeyFiles = createKeyFiles({
  name: 'admin',
  pattern: ADMIN_KEY_PATTERN,
  message: ADMIN_KEY_MESSAGE,
  encoding: 'base64url',
});

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
  const { fileIn, previousFileIn, read, readPrevious } = adminKeyFiles;
  const current = adminKey ?? read(dataDir);
  const previous = adminKeyPrevious ?? (adminKey === undefined ? readPrevious(dataDir) : undefined);
  const origin = adminKeyPrevious === undefined ? previousFileIn(dataDir) : 'ADMIN_KEY_PREVIOUS';
  if (previous === undefined) return current === undefined ? [] : [current];
  if (current === undefined) throw new SettingsError([`${origin}: needs ADMIN_KEY, or ${fileIn(dataDir)}`]);
  if (previous === current) throw new SettingsError([`${origin}: must be another key than the admin key`]);
  return [current, previous];
}
