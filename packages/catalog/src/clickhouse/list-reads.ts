import { type ClickHouseClient, isBeyondLimits } from '@waymark/clickhouse';
import { ApiError, formatResourceId } from '@waymark/contract';
import { createFairQueue } from '@waymark/rate-limit';
import { queryRows, type RowsQuery } from './query-rows.js';

/**
 * Statements of lists and counts that run at a time in a process. Lists are not read through caches, and a search goes through all records of
 * its workspace; without limits one workspace takes every connection and, of the embedded engine, every place, and look-ups of single records
 * of all workspaces wait behind its lists.
 */
const LIMITS = {
  runningMax: 6,
  runningPerOwnerMax: 4,
  waitingMax: 400,
  waitingPerOwnerMax: 100,
  waitMsMax: 5000,
};

/** The answer, without `Retry-After`, for a list that ClickHouse has aborted: a repeat would most likely take as long. */
const TOO_LARGE = 'The list takes more time or memory than it may use. Ask for fewer records, with a narrower filter.';

/**
 * Runs a statement of a list when it is the turn of its workspace, the parameter `workspace`.
 *
 * @throws ApiError 429 when too many wait, or this one waits too long; 500 when it takes too much time or memory; what `queryRows` throws
 */
export type ReadList = <Row extends readonly unknown[]>(query: RowsQuery) => Promise<Row[]>;

async function readOrRefuse<Row extends readonly unknown[]>(
  clickhouse: ClickHouseClient,
  query: RowsQuery,
): Promise<Row[]> {
  try {
    return await queryRows<Row>(clickhouse, query);
  } catch (err) {
    throw isBeyondLimits(err) ? new ApiError('internal_server_error', TOO_LARGE, { cause: err }) : err;
  }
}

/** The limits apply to all lists of the process together, so create one and share it. */
export function createListReads(clickhouse: ClickHouseClient): ReadList {
  const queue = createFairQueue(LIMITS);
  return (query) => {
    // The public id, as for reads of events, so that the lists and the events of a workspace share the same sessions.
    const owner = formatResourceId('workspace', String(query.parameters.workspace));
    return queue.run(owner, () => readOrRefuse(clickhouse, { ...query, owner }));
  };
}
