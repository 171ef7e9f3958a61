/** Matches a semicolon, or a string, quoted name or comment as a whole, because a semicolon in these does not end a statement. */
const PIECE =
  /'(?:[^'\\]|\\[\s\S]?|'')*(?:'|$)|`(?:[^`\\]|\\[\s\S]?)*(?:`|$)|"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g;

/** Splits a file into statements, without their semicolons. Text with only comments is not a statement. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  for (const { 0: piece, index } of sql.matchAll(PIECE)) {
    if (piece !== ';') continue;
    statements.push(sql.slice(start, index));
    start = index + 1;
  }
  statements.push(sql.slice(start));
  return statements.map((statement) => statement.trim()).filter((statement) => withoutComments(statement) !== '');
}

function withoutComments(sql: string): string {
  return sql.replace(PIECE, (piece) => (piece.startsWith('--') || piece.startsWith('/*') ? '' : piece)).trim();
}
