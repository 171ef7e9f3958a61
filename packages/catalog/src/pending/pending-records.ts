import type { CatalogRecord, EntityType, Name, Stored } from '../model/entity-type.js';
import { numberOf } from '../model/entity-type.js';
import type { RecordTable } from '../store/record-table.js';
import type { NameClaim, NamesTable } from '../store/unique-names.js';

/** Result of a read that does not wait for Redis; undefined when Redis did not answer at once. */
export type Peek<T> = { readonly found: T | undefined } | undefined;

/**
 * Records whose rows are in the queue and may not be in their table yet. They exist, because their creation was acknowledged. The
 * `read` functions throw ApiError 500 with `Retry-After` when Redis stays away.
 */
export interface PendingRecords<R extends CatalogRecord> {
  peek(workspaceId: string, id: string): Promise<Peek<R>>;
  read(workspaceId: string, id: string): Promise<R | undefined>;
  peekByName(name: Name): Promise<Peek<NameClaim>>;
  readByName(name: Name): Promise<NameClaim | undefined>;
  /** All of a workspace, by id. @throws ApiError 500 with `Retry-After` also when they stay too many to be listed */
  readAll(workspaceId: string): Promise<ReadonlyMap<string, R>>;
}

const FIRST_VERSION = 1;

/**
 * The table as it will be once the queue is written. What is pending is read before the table: a row that is written between the
 * two reads is found in the table.
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
      if (record === undefined) return peeked === undefined ? table.get(workspaceId, id) : undefined;
      const isWritten = await namesTable.isUsed({
        table: kind.table,
        workspaceNumber: numberOf('workspace', workspaceId),
        number: numberOf(kind.resource, id),
      });
      // Written just now, or removed.
      return isWritten ? table.get(workspaceId, id) : { version: FIRST_VERSION, record, isPending: true };
    },
  };
}
