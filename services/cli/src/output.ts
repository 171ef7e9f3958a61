import { clearLine, cursorTo } from 'node:readline';

/** The result of a command: `data` is printed with `--json`, `lines` without. */
export interface CommandResult {
  readonly data: unknown;
  readonly lines: readonly string[];
  /** Whether the command found a problem: then it exits with 1 after printing. */
  readonly failed?: boolean;
}

/** Control characters except tabs and line breaks: C0, DEL and C1. */
const CONTROL_CHARACTERS = /[^\P{Cc}\t\n]/gu;

/**
 * Escapes control characters as JSON does (`\u001b`). Names, metadata and user agents come from customers and visitors; a terminal that
 * prints them would execute the control sequences in them. JSON itself leaves DEL and C1 as they are.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROL_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Prints a result to standard output. */
export function printResult({ data, lines }: CommandResult, asJson: boolean): void {
  if (asJson) console.log(escapeControls(JSON.stringify(data, null, 2)));
  else for (const line of lines) console.log(escapeControls(line));
}

/** Empties the last line of the terminal, where the progress of a command is. */
export function clearProgressLine(): void {
  if (!process.stderr.isTTY) return;
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
}

/** Prints a message to standard error. The progress line, if there is one, is drawn again below it. */
export function printMessage(text: string): void {
  clearProgressLine();
  console.error(escapeControls(text));
}

/** Prints a message that is not part of a command's result to standard error. */
export function printStatus(text: string): void {
  printMessage(`waymark: ${text}`);
}

/** Formats bytes as megabytes of a million bytes. */
export const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;

/** Aligns rows in columns; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
