/** A ClickHouse string literal. The server would read the same text from a URL, so every byte has to arrive. */
export function stringLiteral(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (character) => (character === '\0' ? '\\0' : `\\${character}`))}'`;
}

export function quotedIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}

const LEADING_SPACE_AND_COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()+/;

/** The first word of a statement in capitals, past comments and opening parentheses. */
export function leadingKeyword(sql: string): string {
  const start = LEADING_SPACE_AND_COMMENTS.exec(sql)?.[0].length ?? 0;
  return /^[A-Za-z]*/.exec(sql.slice(start, start + 32))?.[0].toUpperCase() ?? '';
}

/** The format a statement names at its end, as far as a response header needs it. */
export function namedFormat(sql: string): string | undefined {
  return /\bFORMAT\s+([A-Za-z]\w*)\s*(?:;\s*)?$/i.exec(sql.slice(-200))?.[1];
}
