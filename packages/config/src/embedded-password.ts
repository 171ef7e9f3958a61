import { SettingsError } from './settings-error.js';

/** The variable that passes the password from the parent process to the embedded ClickHouse. Internal: operators do not set it. */
export const EMBEDDED_PASSWORD = 'WAYMARK_EMBEDDED_PASSWORD';

const PATTERN = /^[A-Za-z0-9_-]{32,256}$/;

/**
 * The password of the embedded ClickHouse.
 *
 * @throws SettingsError when it is missing or invalid: without a password, every user of the machine could query the store
 */
export function readEmbeddedPassword(): string {
  const password = process.env[EMBEDDED_PASSWORD] ?? '';
  if (PATTERN.test(password)) return password;
  throw new SettingsError([`${EMBEDDED_PASSWORD}: must be 32 to 256 letters, digits, underscores and dashes`]);
}
