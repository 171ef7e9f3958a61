/** A ClickHouse string literal that reads back as exactly `text`. */
export function stringLiteral(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (character) => (character === '\0' ? '\\0' : `\\${character}`))}'`;
}

export function quotedIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}

const SPACE_AND_COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()+/;

/** The first word of a statement in capitals, past comments and opening parentheses. */
export function leadingKeyword(sql: string): string {
  const start = SPACE_AND_COMMENTS.exec(sql)?.[0].length ?? 0;
  return /^[A-Za-z]*/.exec(sql.slice(start, start + 32))?.[0].toUpperCase() ?? '';
}

const READING = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS']);

/** Whether a statement only reads, so that stopping it halfway leaves nothing half-done. */
export function onlyReads(sql: string): boolean {
  return READING.has(leadingKeyword(sql));
}

/** The format a statement names at its end, as far as a response header needs it. */
export function namedFormat(sql: string): string | undefined {
  return /\bFORMAT\s+([A-Za-z]\w*)\s*(?:;\s*)?$/i.exec(sql.slice(-200))?.[1];
}

/** Whether more than one statement is possible: a semicolon that is not the last thing. Strings may hold one, too. */
export function mayHoldSeveral(sql: string): boolean {
  const semicolon = sql.indexOf(';');
  return semicolon >= 0 && sql.slice(semicolon + 1).trim() !== '';
}
