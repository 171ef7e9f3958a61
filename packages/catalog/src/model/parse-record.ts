import { ApiError, formatResourceId } from '@waymark/contract';
import { throttled } from '@waymark/event-queue';
import type { CatalogRecord, EntityType } from './entity-type.js';
import type { CatalogLogger } from './errors.js';

/**
 * A stored record does not fit the schema of this release, perhaps because a later one has written it. The error has no value of the record,
 * which may be personal data.
 */
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError';

  /** @param fields the fields that do not fit; none when the text is no JSON */
  constructor(table: string, fields: readonly string[]) {
    super(`a record of ${table} cannot be read: ${fields.length === 0 ? 'no JSON' : fields.join(', ')}`);
  }
}

/** Whether a read has failed because of a record that cannot be read. */
export function isUnreadable(err: unknown): boolean {
  return (
    err instanceof UnreadableRecordError || (err instanceof ApiError && err.cause instanceof UnreadableRecordError)
  );
}

/** Some rows of a table: the records that can be read, and the public ids of the others. */
export interface ParsedRows<R> {
  readonly records: readonly R[];
  readonly unreadable: readonly string[];
}

function parseJson(table: string, data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new UnreadableRecordError(table, []);
  }
}

/** Parses the stored JSON of a record. @throws UnreadableRecordError when it does not fit the schema */
export function parseData<R extends CatalogRecord>({ schema, table }: EntityType<R>, data: string): R {
  const parsed = schema.safeParse(parseJson(table, data));
  if (parsed.success) return parsed.data;
  throw new UnreadableRecordError(table, [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))]);
}

/** Dependencies of {@link createRecordParser}. */
export interface ParserDeps {
  readonly logger: CatalogLogger;
}

/** Interval of log lines about unreadable records of a type. */
export const UNREADABLE_LOG_MS = 60_000;

/** Parses a row; undefined when its record cannot be read. Numbers are the UInt64 of ids as decimal text. */
export type ParseRow<R> = (workspaceNumber: string, number: string, data: string) => R | undefined;

/**
 * Creates a parser for reads that must not fail for all workspaces because of one record. A record that cannot be read is logged by its table
 * and id, at most once a minute for each type.
 */
export function createRecordParser<R extends CatalogRecord>(kind: EntityType<R>, { logger }: ParserDeps): ParseRow<R> {
  const warn = throttled((context, message) => logger.warn(context, message), UNREADABLE_LOG_MS);
  return (workspaceNumber, number, data) => {
    try {
      return parseData(kind, data);
    } catch (err) {
      if (!(err instanceof UnreadableRecordError)) throw err;
      const id = formatResourceId(kind.resource, number);
      const workspaceId = formatResourceId('workspace', workspaceNumber);
      warn({ table: kind.table, workspaceId, id, reason: err.message }, 'a record cannot be read, and is left out');
      return undefined;
    }
  };
}
