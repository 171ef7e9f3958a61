import { DATABASE_ENGINES, TABLE_ENGINES } from '../access.js';
import { isPlainInsert } from './plain-insert.js';

/**
 * Patterns of external access that grants and constraints (`access.ts`) do not prevent, for a statement as formatted by the engine:
 * the function `file`, which reads any file; disks defined in the statement; programs, models and AI services; files as source or target of a statement;
 * and engines that need no grant and can write anywhere.
 */
const FORBIDDEN = [
  /\bfile\b/,
  /\b(?:disk|executable|eval|catboostEvaluate|naiveBayes\w*|ai[A-Z]\w*|AI[A-Z]\w*) ?\(/,
  /\bINTO OUTFILE\b/,
  /\bFROM INFILE\b/,
  // For a backup the engine opens the destination before it checks the grants.
  /^(?:BACKUP|RESTORE)\b/,
  // ClickHouse checks nothing in the statements after it, not even `readonly`.
  /\bPARALLEL WITH\b/,
  new RegExp(`\\bENGINE = (?!(?:${[...TABLE_ENGINES, ...DATABASE_ENGINES].join('|')})\\b)`),
];

/**
 * Fast check: a statement without any of these contains nothing forbidden. A backslash is suspicious because escapes can hide a
 * name.
 */
const SUSPICIOUS = /\\|file|disk|engine|\b(?:backup|restore|executable|eval|catboost|naivebayes|ai|parallel)/i;

/** Whether a statement, with the `data` that follows it, needs the full check. Most do not. */
export function mayAccessExternal(sql: string, data: Buffer): boolean {
  if (isPlainInsert(sql)) return false;
  return SUSPICIOUS.test(sql) || SUSPICIOUS.test(data.toString('latin1'));
}

/**
 * Empties string literals, removes the quotes of names such as `file`, and replaces quoted names with other characters than letters, digits
 * and `_` by `_`. `canonical` is the statement as formatted by the engine, without comments.
 */
function withoutLiterals(canonical: string): string {
  return canonical.replace(/'(?:[^'\\]|\\[\s\S])*(?:'|\\?$)|`((?:[^`\\]|\\[\s\S])*)(?:`|\\?$)/g, (_, name?: string) => {
    if (name === undefined) return "''";
    return /^\w+$/.test(name) ? name : '_';
  });
}

/** The part of a statement that accesses files, programs or addresses; undefined if there is none. */
export function findExternalAccess(canonical: string): string | undefined {
  const text = withoutLiterals(canonical);
  return FORBIDDEN.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
}
