/**
 * The environment for a child process, or to load settings from: `overrides` beat what is set, `defaults` fill what is not.
 * As everywhere, an empty variable counts as not set.
 */
export function environmentWith(
  overrides: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const given = Object.entries(process.env).filter(([, value]) => value !== undefined && value.trim() !== '');
  return { ...defaults, ...Object.fromEntries(given), ...overrides };
}
