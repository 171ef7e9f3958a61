/** A ClickHouse string literal with the value `text`. */
export function stringLiteral(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (character) => (character === '\0' ? '\\0' : `\\${character}`))}'`;
}

const SPACE_AND_COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()+/;

/** The first word of a statement, in upper case, after comments and opening parentheses; empty if there is none. */
export function leadingKeyword(sql: string): string {
  const start = SPACE_AND_COMMENTS.exec(sql)?.[0].length ?? 0;
  return /^[A-Za-z]*/.exec(sql.slice(start, start + 32))?.[0].toUpperCase() ?? '';
}

const READING = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS']);

/** Whether a statement only reads, so that it can be killed without leaving a partial write. */
export function isReadOnly(sql: string): boolean {
  return READING.has(leadingKeyword(sql));
}

/** The format named at the end of a statement, for the response headers. */
export function namedFormat(sql: string): string | undefined {
  return /\bFORMAT\s+([A-Za-z]\w*)\s*(?:;\s*)?$/i.exec(sql.slice(-200))?.[1];
}

/** Whether the text may contain several statements: it has a semicolon before its end, which may be inside a string. */
export function mayContainSeveral(sql: string): boolean {
  const semicolon = sql.indexOf(';');
  return semicolon >= 0 && sql.slice(semicolon + 1).trim() !== '';
}
