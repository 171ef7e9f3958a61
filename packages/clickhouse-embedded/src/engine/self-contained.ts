import { parameterLiteral } from './parameter-literals.js';
import { leadingKeyword } from './sql-text.js';
import { type Statement, settingAssignments } from './statement.js';

/**
 * Strings, quoted names, comments and parameters. The first three groups are the closing quotes `'`, `` ` `` and `"`, each empty if the
 * quote is not closed; the other two are the name and the type of a parameter.
 */
const TOKENS =
  /'[^'\\]*(?:\\[\s\S][^'\\]*)*('?)|`[^`\\]*(?:\\[\s\S][^`\\]*)*(`?)|"[^"\\]*(?:\\[\s\S][^"\\]*)*("?)|--[^\n]*|\/\*|#|\{\s*(\w+)\s*:([^{}]*)\}/g;
/**
 * Statements with one of these are run on a connection of their own: several statements (also with PARALLEL WITH), heredocs, typographic
 * quotes, targets of a result, writes, and the setting that forbids writes.
 */
const SPECIAL = /[;$\u2018\u2019\u201c\u201d]|\b(?:INTO|INSERT|PARALLEL|READONLY)\b/i;
const SETTINGS = /\bSETTINGS\b/i;
/** Settings of the parser: a SETTINGS clause at the end of a statement comes too late for them. */
const PARSER_SETTING = /^(?:max_parser_\w+|implicit_select)$/;
/** Clients end a statement with FORMAT. In a statement without it, an appended SETTINGS clause could be read as an alias. */
const FORMAT_CLAUSE = /\bFORMAT\s+\w+\s*$/i;
const FORMAT = /\bFORMAT\b/i;
/**
 * Limit on the SQL, on each value of a parameter, and on the text that they make together, in characters. The engine parses at most 262,144
 * bytes of SQL; a parameter has no such limit.
 */
const CHARS_MAX = 80_000;

/** Whether a parameter is the value of a setting, where its literal is not allowed. */
function hasSettingByParameter(sql: string): boolean {
  const settings = sql.search(SETTINGS);
  return settings >= 0 && sql.includes('{', settings);
}

/** The SQL with its parameters as literals; undefined if one of them cannot be written as a literal. */
function withLiterals(sql: string, parameters: ReadonlyMap<string, string>): string | undefined {
  let isComplete = true;
  const text = sql.replace(TOKENS, (token: string, ...groups: (string | undefined)[]) => {
    const [single, backtick, double, name, type] = groups;
    if (name === undefined) {
      isComplete &&= single !== '' && backtick !== '' && double !== '' && token !== '/*' && token !== '#';
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
 * its connection. As on a ClickHouse server, a SETTINGS clause of the statement's own takes precedence. `readonly` is left out: the shared
 * connections have it.
 *
 * @returns undefined for statements that need a connection of their own
 */
export function selfContained(statement: Statement, statementId: string): string | undefined {
  const { sql, data, parameters, settings } = statement;
  const keyword = leadingKeyword(sql);
  if ((keyword !== 'SELECT' && keyword !== 'WITH') || data.length > 0) return undefined;
  if ([sql, ...parameters.values()].some(({ length }) => length > CHARS_MAX)) return undefined;
  if (SPECIAL.test(sql) || hasSettingByParameter(sql)) return undefined;
  if (!FORMAT_CLAUSE.test(sql) || FORMAT.test(sql.replace(FORMAT_CLAUSE, ''))) return undefined;
  if (!['0', '2', undefined].includes(settings.get('readonly'))) return undefined;
  if ([...settings.keys()].some((name) => PARSER_SETTING.test(name))) return undefined;
  const text = withLiterals(sql, parameters);
  if (text === undefined || text.length > CHARS_MAX) return undefined;
  const assignments = settingAssignments(new Map([...settings].filter(([name]) => name !== 'readonly')), statementId);
  return `${text}\nSETTINGS ${assignments.join(', ')}`;
}
