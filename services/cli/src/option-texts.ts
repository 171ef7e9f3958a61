/** The flag of an option: `--dry-run` for `dryRun`. */
export function flagOf(optionName: string): string {
  return `--${optionName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Begins each value that is hidden from the parser. An argument of a process cannot contain this character. */
const HIDDEN = '\u0000';

/**
 * Hides values that the parser would change: it converts texts that look like numbers (`007` becomes 7, an empty text 0), which is wrong for names
 * and slugs, and takes `-` for an option without a name.
 */
export function hideTexts(argv: readonly string[]): string[] {
  return argv.map((word) => {
    const [, flag = '', value = word] = /^(--[^=]+=)(.*)$/s.exec(word) ?? [];
    return value === '-' || Number.isFinite(Number(value)) ? `${flag}${HIDDEN}${value}` : word;
  });
}

/** The value as it was typed; a list for a repeated option. */
export function shownTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownTexts);
  return typeof value === 'string' && value.startsWith(HIDDEN) ? value.slice(HIDDEN.length) : value;
}
