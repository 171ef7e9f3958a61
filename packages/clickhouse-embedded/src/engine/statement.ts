import { quoteIdentifier } from '@waymark/clickhouse';
import { exceptions } from './database-exception.js';
import type { ReadCounts } from './read-counts.js';
import { stringLiteral } from './sql-text.js';

/** One statement with its data, settings and parameters. */
export interface Statement {
  readonly sql: string;
  /** The bytes that follow the SQL: the rows of an INSERT. */
  readonly data: Buffer;
  /** Undefined = the database `default`. */
  readonly database: string | undefined;
  /** On whose behalf it reads, such as a workspace. Owners share the slots; undefined for inserts and look-ups, which have some more. */
  readonly owner?: string | undefined;
  /** The format of the result, unless the SQL names one. */
  readonly format: string;
  /** Settings by name. */
  readonly settings: ReadonlyMap<string, string>;
  /** Parameters by name, with values in ClickHouse's escaped text form, as in `param_<name>` of a URL. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** The result of a statement, and how much it has read and written. */
export interface StatementResult extends ReadCounts {
  /** The rows in the format of the statement; empty for an INSERT. */
  readonly bytes: Buffer;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
}

/**
 * The setting that carries the id of a running statement, by which this server can kill it. It was chosen because it has no effect here;
 * chDB does not expose its own query ids.
 */
export const STATEMENT_ID_SETTING = 'query_cache_tag';

const SETTING_NAME = /^[A-Za-z_]\w*$/;
const PARAMETER_NAME = /^\w+$/;

/** The assignments of settings, with the id of the statement, for SET and SETTINGS. @throws DatabaseException for an invalid name */
export function settingAssignments(settings: ReadonlyMap<string, string>, statementId: string): string[] {
  const assignments = [...settings].map(([name, value]) => {
    if (!SETTING_NAME.test(name)) throw exceptions.unknownSetting(name);
    return `${name} = ${stringLiteral(value)}`;
  });
  return [...assignments, `${STATEMENT_ID_SETTING} = '${statementId}'`];
}

/** Throws if a parameter has a name that ClickHouse does not allow. */
export function checkParameterNames(parameters: ReadonlyMap<string, string>): void {
  for (const name of parameters.keys()) {
    if (!PARAMETER_NAME.test(name)) throw exceptions.badArguments(`Bad name of a query parameter: '${name}'.`);
  }
}

function setupOn(database: string | undefined, set: string): string {
  return database === undefined ? set : `USE ${quoteIdentifier(database)}; ${set}`;
}

/** The SQL for a connection that reads share: its database, and that its statements may not write. */
export function readerSetup(database: string | undefined): string {
  return setupOn(database, 'SET readonly = 2');
}

/** The SQL for a connection that inserts share: its database. */
export function writerSetup(database = 'default'): string {
  return `USE ${quoteIdentifier(database)}`;
}

/** The engine's default `max_query_size`, in bytes. */
const QUERY_BYTES_MAX = 262_144;
/** Characters of the parameters that surely fit into a statement of that size. */
const CHARS_THAT_FIT = 60_000;

/**
 * The SQL that sets a connection's database, settings and parameters: one call, because each call costs 0.3 ms. A ClickHouse server does
 * not count parameters as SQL, so the limit on SQL is raised while they are set.
 */
export function connectionSetup({ database, settings, parameters }: Statement, statementId: string): string {
  const values = [...parameters].map(([name, value]) => `param_${name} = ${stringLiteral(value)}`).join(', ');
  const assignments = settingAssignments(settings, statementId).join(', ');
  if (values.length <= CHARS_THAT_FIT) {
    return setupOn(database, `SET ${values === '' ? assignments : `${values}, ${assignments}`}`);
  }
  const raised = QUERY_BYTES_MAX + Buffer.byteLength(values);
  return setupOn(
    database,
    `SET max_query_size = ${raised}; SET ${values}; SET max_query_size = ${QUERY_BYTES_MAX}; SET ${assignments}`,
  );
}
