import type { CatalogRecord, EntityType, Name, Stored } from '../model/entity-type.js';
import { numberOf } from '../model/entity-type.js';
import type { RecordTable } from '../store/record-table.js';
import type { NameRow, NamesTable } from '../store/unique-names.js';

/** The result of a read that does not wait for Redis: undefined when Redis did not answer at once, otherwise what was found. */
export type Peek<T> = { readonly found: T | undefined } | undefined;

/**
 * Reads pending records: their rows are in the queue and may not be in their table yet. They exist for all reads, because their creation
 * was answered with success. The `peek` functions do not wait for Redis and never throw. The `read` functions wait, and throw ApiError 500
 * with `Retry-After` if Redis stays away.
 */
export interface PendingRecords<R extends CatalogRecord> {
  peek(workspaceId: string, id: string): Promise<Peek<R>>;
  read(workspaceId: string, id: string): Promise<R | undefined>;
  peekByName(name: Name): Promise<Peek<NameRow>>;
  readByName(name: Name): Promise<NameRow | undefined>;
  /** All pending records of a workspace, by id. @throws ApiError 500 with `Retry-After`, also while there are too many to list */
  readAll(workspaceId: string): Promise<ReadonlyMap<string, R>>;
}

const FIRST_VERSION = 1;

/**
 * A table that also contains the pending records. They are read before the table, so that a row which the writer inserts between the two
 * reads is found in the table.
 */
export function withPending<R extends CatalogRecord>(
  kind: EntityType<R>,
  table: RecordTable<R>,
  namesTable: Pick<NamesTable, 'isUsed'>,
  pending: PendingRecords<R>,
): RecordTable<R> {
  return {
    ...table,

    async get(workspaceId: string, id: string): Promise<Stored<R> | undefined> {
      const peeked = await pending.peek(workspaceId, id);
      const stored = await table.get(workspaceId, id);
      if (stored !== undefined) return stored;
      const record = peeked === undefined ? await pending.read(workspaceId, id) : peeked.found;
      // If the peek has failed, the pending records were read after the table, so the table is read again.
      if (record === undefined) return peeked === undefined ? table.get(workspaceId, id) : undefined;
      const isWritten = await namesTable.isUsed({
        table: kind.table,
        workspaceNumber: numberOf('workspace', workspaceId),
        number: numberOf(kind.resource, id),
      });
      // The table has a row by now: the record, or the row that marks it as removed.
      return isWritten ? table.get(workspaceId, id) : { version: FIRST_VERSION, record, isPending: true };
    },
  };
}
