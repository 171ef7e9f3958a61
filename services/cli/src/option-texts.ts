/** The flag of an option: `--dry-run` for `dryRun`. */
export function flagOf(optionName: string): string {
  return `--${optionName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The value of a flag as it was typed; undefined when the flag is missing. */
function typedText(flag: string, argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const word = argv[at];
  return word === flag ? argv[at + 1] : word?.slice(flag.length + 1);
}

/**
 * Restores options as they were typed. The parser converts texts that look like numbers (`007` becomes 7, an empty text 0), which is
 * wrong for names and slugs.
 */
export function optionTexts(
  options: Readonly<Record<string, unknown>>,
  argv: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      typeof value === 'number' ? (typedText(flagOf(name), argv) ?? value) : value,
    ]),
  );
}
