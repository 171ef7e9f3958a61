/** What a command found or did: `data` for machines, `lines` for people. */
export interface CommandResult {
  readonly data: unknown;
  readonly lines: readonly string[];
  /** The command did its work, and what it found is not well. */
  readonly failed?: boolean;
}

export function printResult({ data, lines, failed }: CommandResult, asJson: boolean): void {
  if (failed) process.exitCode = 1;
  if (asJson) console.log(JSON.stringify(data, null, 2));
  else for (const line of lines) console.log(line);
}

/** Rows in columns, the first row being the heading. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
