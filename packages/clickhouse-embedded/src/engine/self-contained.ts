import { parameterLiteral } from './parameter-literals.js';
import { leadingKeyword } from './sql-text.js';
import { type Statement, settingAssignments } from './statement.js';

/** Strings, quoted names, comments and parameters. A quote that is not closed matches without its end. */
const TOKENS =
  /'[^'\\]*(?:\\[\s\S][^'\\]*)*('?)|`[^`\\]*(?:\\[\s\S][^`\\]*)*(`?)|"[^"\\]*(?:\\[\s\S][^"\\]*)*("?)|--[^\n]*|\/\*|#|\{\s*(\w+)\s*:([^{}]*)\}/g;
/** Parts that are left to the engine: several statements, heredocs, targets of a result, and writes. */
const SPECIAL = /[;$]|\b(?:INTO|INSERT)\b/i;
/** Clients put it at the end. Added to a statement without it, it could be read as an alias. */
const FORMAT_CLAUSE = /\bFORMAT\s+\w+\s*$/i;
const FORMAT = /\bFORMAT\b/i;

/** The SQL with its parameters as literals; undefined if one of them cannot be put in. */
function withLiterals(sql: string, parameters: ReadonlyMap<string, string>): string | undefined {
  let isComplete = true;
  const text = sql.replace(TOKENS, (token: string, ...groups: (string | undefined)[]) => {
    const [single, double, backtick, name, type] = groups;
    if (name === undefined) {
      isComplete &&= single !== '' && double !== '' && backtick !== '' && token !== '/*' && token !== '#';
      return token;
    }
    const value = parameters.get(name);
    const literal = value === undefined ? undefined : parameterLiteral((type ?? '').trim(), value);
    isComplete &&= literal !== undefined;
    return literal ?? token;
  });
  return isComplete ? text : undefined;
}

/**
 * A read as one text that has its parameters as literals and its settings in a SETTINGS clause, so that it leaves nothing behind on
 * its connection. As on the server, a SETTINGS clause of the statement's own takes precedence. Without `readonly`: a SELECT cannot
 * write.
 *
 * @returns undefined for statements that need a connection of their own
 */
export function selfContained(statement: Statement, statementId: string): string | undefined {
  const { sql, data, parameters, settings } = statement;
  const keyword = leadingKeyword(sql);
  if ((keyword !== 'SELECT' && keyword !== 'WITH') || data.length > 0 || SPECIAL.test(sql)) return undefined;
  if (!FORMAT_CLAUSE.test(sql) || FORMAT.test(sql.replace(FORMAT_CLAUSE, ''))) return undefined;
  if (settings.get('readonly') === '1') return undefined;
  const text = withLiterals(sql, parameters);
  if (text === undefined) return undefined;
  const assignments = settingAssignments(new Map([...settings].filter(([name]) => name !== 'readonly')), statementId);
  return `${text}\nSETTINGS ${assignments.join(', ')}`;
}
