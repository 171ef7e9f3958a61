import type { ClickHouseSettings } from '@clickhouse/client';
import type { EventRow } from '@waymark/event-format';
import type { ClickHouseClient } from '../client.js';

/** One insert of rows. */
export interface Insertion {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly EventRow[];
  /**
   * Idempotency key of the insert: ClickHouse drops a later insert with the same token, whatever its rows are, in the table and in the
   * tables that its views fill. Every batch of rows needs a token of its own, which stays the same when the insert is repeated.
   */
  readonly deduplicationToken?: string | undefined;
  readonly maxExecutionSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Further settings of this insert, such as the quorum of replicated catalog tables. */
  readonly settings?: ClickHouseSettings | undefined;
}

/** The settings of an insert, with deduplication if it has a token. */
export function insertionSettings(
  insertion: Pick<Insertion, 'deduplicationToken' | 'maxExecutionSeconds' | 'settings'>,
): ClickHouseSettings {
  const { deduplicationToken, maxExecutionSeconds } = insertion;
  return {
    ...insertion.settings,
    ...(deduplicationToken === undefined
      ? {}
      : {
          insert_deduplicate: 1,
          insert_deduplication_token: deduplicationToken,
          deduplicate_blocks_in_dependent_materialized_views: 1,
        }),
    ...(maxExecutionSeconds === undefined ? {} : { max_execution_time: maxExecutionSeconds }),
  };
}

/**
 * Writes rows as one insert. Resolves when ClickHouse has stored them.
 *
 * @throws ClickHouseError; network errors; TypeError without columns
 */
export async function insertRows(client: ClickHouseClient, insertion: Insertion): Promise<void> {
  const [first, ...others] = insertion.columns;
  if (first === undefined) throw new TypeError(`an insert into ${insertion.table} without columns`);
  if (insertion.rows.length === 0) return;
  await client.insert({
    table: insertion.table,
    columns: [first, ...others],
    values: insertion.rows as EventRow[],
    format: 'JSONCompactEachRow',
    clickhouse_settings: insertionSettings(insertion),
    ...(insertion.signal === undefined ? {} : { abort_signal: insertion.signal }),
  });
}
