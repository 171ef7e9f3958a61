/** The result of a command: `data` is printed with `--json`, `lines` without. */
export interface CommandResult {
  readonly data: unknown;
  readonly lines: readonly string[];
  /** Whether the command found a problem: then it exits with 1 after printing. */
  readonly failed?: boolean;
}

/** Prints a result to standard output. */
export function printResult({ data, lines }: CommandResult, asJson: boolean): void {
  if (asJson) console.log(JSON.stringify(data, null, 2));
  else for (const line of lines) console.log(line);
}

/** Aligns rows in columns; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
