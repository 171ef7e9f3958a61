/** The result of a command: `data` for `--json`, `lines` for people. */
export interface CommandResult {
  readonly data: unknown;
  readonly lines: readonly string[];
  /** The command succeeded, but found a problem: exit with an error. */
  readonly failed?: boolean;
}

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
