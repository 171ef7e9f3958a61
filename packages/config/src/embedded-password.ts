import { SettingsError } from './settings-error.js';

/** The variable in which the embedded ClickHouse is handed its password by whoever starts it. No setting of operators. */
export const EMBEDDED_PASSWORD = 'WAYMARK_EMBEDDED_PASSWORD';

const PATTERN = /^[A-Za-z0-9_-]{32,256}$/;

/**
 * The password of the embedded ClickHouse.
 *
 * @throws SettingsError without one: it must not serve every user of the machine
 */
export function readEmbeddedPassword(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const password = env[EMBEDDED_PASSWORD] ?? '';
  if (PATTERN.test(password)) return password;
  throw new SettingsError([`${EMBEDDED_PASSWORD}: must be 32 to 256 letters, digits, underscores and dashes`]);
}
