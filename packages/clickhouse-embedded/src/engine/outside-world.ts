import { DATABASE_ENGINES, TABLE_ENGINES } from '../access.js';

/**
 * What grants and constraints (`access.ts`) leave open, in the engine's own spelling of a statement: the function `file`,
 * which reads any file; disks described on the spot; programs; files as source or target of a statement; and engines that
 * need no grant but write where they like.
 */
const FORBIDDEN = [
  /\bfile\b/,
  /\b(?:disk|executable|eval|catboostEvaluate|naiveBayes\w*|ai[A-Z]\w*|AI[A-Z]\w*) ?\(/,
  /\bINTO OUTFILE\b/,
  /\bFROM INFILE\b/,
  // Of backups the engine opens the place before it looks at grants.
  /^(?:BACKUP|RESTORE)\b/,
  new RegExp(`\\bENGINE = (?!(?:${[...TABLE_ENGINES, ...DATABASE_ENGINES].join('|')})\\b)`),
];

/** Without any of these no statement can hold what is forbidden. A quoted name may be written with escapes. */
const SUSPICIOUS = /\\|file|disk|engine|\b(?:backup|restore|executable|eval|catboost|naivebayes|ai)/i;

/** An INSERT whose rows follow: the statement proper holds names only. */
const PLAIN_INSERT = /^\s*INSERT\s+INTO\s+[\w.`]+\s*(?:\([\w\s,`]*\)\s*)?FORMAT\s+\w+\s*$/i;

/** Whether a statement, with the `data` that follows its text, has to be read closely. Most have not. */
export function mayReachOutside(sql: string, data: Buffer): boolean {
  if (PLAIN_INSERT.test(sql)) return false;
  return SUSPICIOUS.test(sql) || SUSPICIOUS.test(data.toString('latin1'));
}

/** What of a statement is no text and no value. `canonical` is the engine's spelling, in which nothing is a comment. */
function withoutTexts(canonical: string): string {
  return canonical.replace(/'(?:[^'\\]|\\[\s\S])*(?:'|\\?$)|`((?:[^`\\]|\\[\s\S])*)(?:`|\\?$)/g, (_, name?: string) => {
    if (name === undefined) return "''";
    return /^\w+$/.test(name) ? name : '_';
  });
}

/** The part of a statement that reaches files, programs or addresses; undefined when none does. */
export function reachOutside(canonical: string): string | undefined {
  const text = withoutTexts(canonical);
  return FORBIDDEN.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
}
