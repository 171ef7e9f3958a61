import { type Statement, settingAssignments } from './statement.js';

/** An INSERT whose rows follow the statement, which itself contains only names. */
const PLAIN_INSERT = /^(\s*INSERT\s+INTO\s+[\w.`]+\s*(?:\([\w\s,`]*\)\s*)?)(FORMAT\s+\w+\s*)$/i;

/** Settings for which a SETTINGS clause comes too late, or that may forbid the insert. */
const CONNECTION_SETTING = /^(?:max_parser_\w+|max_query_size|implicit_select|readonly)$/;

/** A smaller insert runs on one thread: waking other threads costs more than they save, and parallel parsing splits into blocks of 10 MB. */
const SMALL_BYTES = 1024 * 1024;
const ONE_THREAD = [
  ['max_threads', '1'],
  ['input_format_parallel_parsing', '0'],
] as const;

/** Whether a statement is an INSERT whose rows follow it, without any expression in its own text. */
export function isPlainInsert(sql: string): boolean {
  return PLAIN_INSERT.test(sql);
}

/**
 * The SQL of an INSERT with its settings in a SETTINGS clause, so that it leaves nothing behind on its connection. It always names
 * the deduplication token: with the token of another insert, it would silently be dropped as a duplicate.
 *
 * @returns undefined for statements that need a connection of their own
 */
export function selfContainedInsert(statement: Statement, statementId: string): string | undefined {
  const [, target = '', format = ''] = PLAIN_INSERT.exec(statement.sql) ?? [];
  if (target === '' || statement.data.length === 0 || statement.parameters.size > 0) return undefined;
  if ([...statement.settings.keys()].some((name) => CONNECTION_SETTING.test(name))) return undefined;
  const threads = statement.data.length < SMALL_BYTES ? ONE_THREAD : [];
  const settings = new Map([['insert_deduplication_token', ''], ...threads, ...statement.settings]);
  return `${target} SETTINGS ${settingAssignments(settings, statementId).join(', ')} ${format}`;
}
