import type { ClickHouseClient } from './client.js';
import type { EventRow } from './event-rows.js';

export interface Insertion {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly EventRow[];
  /**
   * The whole identity of the insert: repeated under the same token it is dropped, through the views as well, whatever its
   * rows are. A UUID, fresh for every group of rows.
   */
  readonly deduplicationToken?: string | undefined;
  readonly maxExecutionSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Writes rows as one insert. Resolves when ClickHouse holds them. */
export async function insertRows(client: ClickHouseClient, insertion: Insertion): Promise<void> {
  const [first, ...others] = insertion.columns;
  if (first === undefined) throw new TypeError(`an insert into ${insertion.table} without columns`);
  if (insertion.rows.length === 0) return;
  await client.insert({
    table: insertion.table,
    columns: [first, ...others],
    values: insertion.rows as EventRow[],
    format: 'JSONCompactEachRow',
    clickhouse_settings: {
      ...(insertion.deduplicationToken === undefined
        ? {}
        : {
            insert_deduplicate: 1,
            insert_deduplication_token: insertion.deduplicationToken,
            deduplicate_blocks_in_dependent_materialized_views: 1,
          }),
      ...(insertion.maxExecutionSeconds === undefined ? {} : { max_execution_time: insertion.maxExecutionSeconds }),
    },
    ...(insertion.signal === undefined ? {} : { abort_signal: insertion.signal }),
  });
}
