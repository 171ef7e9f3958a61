import { eventsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import { bind, parse, plan } from '../../src/index.js';
import { Parameters, printCondition, printRead } from '../../src/print/print.js';
import { pageOf } from '../run.js';
import { NOW, workspaceId } from '../world.js';

/** The request for the leads that match a query. */
const requestOf = (query: string) => ({ event: 'leads', interval: 'all', limit: '1000', query });
const scopeOf = (workspace: number) => ({ workspaceId: workspaceId(workspace), programId: null });

/** The ids of the page of a query. */
export async function idsMatching(database: TestDatabase, workspace: number, query: string): Promise<string[]> {
  return (await pageOf(database, requestOf(query), scopeOf(workspace), { hasRemovedLinks: false })).ids;
}

/**
 * The ids of the pages of many queries, in one statement: the conditions of each page are a column. That takes a tenth of the time of the
 * pages, and skips no index.
 */
export async function idsMatchingEach(
  database: TestDatabase,
  workspace: number,
  queries: readonly string[],
): Promise<string[][]> {
  const parameters = new Parameters();
  const reads = queries.map(
    (query) => plan(bind(parse(eventsQuerySchema.parse(requestOf(query)), NOW), scopeOf(workspace))).read,
  );
  const [first] = reads;
  if (first === undefined) return [];
  const columns = reads.map(({ where }) =>
    ['true', ...where.map((condition) => printCondition(condition, parameters))].join(' AND '),
  );
  const sql = printRead(
    { ...first, where: [] },
    `event_id, ${columns.map((column) => `(${column})`).join(', ')}`,
    parameters,
  );
  const result = await database.client.query({
    query: `${sql} ORDER BY timestamp DESC, event_id DESC`,
    query_params: parameters.values,
    format: 'JSONCompactEachRow',
  });
  const rows = await result.json<[string, ...(boolean | number)[]]>();
  return queries.map((_query, index) => rows.flatMap(([id, ...matches]) => (matches[index] ? [id] : [])));
}
