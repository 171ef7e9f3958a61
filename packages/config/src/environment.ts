/**
 * The environment for a child process, or for `loadSettings`: the current one, with `overrides` replacing variables and `defaults`
 * supplying those that are not set. As everywhere, an empty variable counts as not set.
 */
export function environmentWith(
  overrides: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const current = Object.entries(process.env).filter(([, value]) => value !== undefined && value.trim() !== '');
  return { ...defaults, ...Object.fromEntries(current), ...overrides };
}
