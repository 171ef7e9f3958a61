/** Pieces of SQL inside which a semicolon ends nothing, or that are no SQL at all. One that is not closed is the rest. */
const PIECE =
  /'(?:[^'\\]|\\[\s\S]?|'')*(?:'|$)|`(?:[^`\\]|\\[\s\S]?)*(?:`|$)|"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g;

/** The statements of a file without their semicolons; comments alone are no statement. */
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
