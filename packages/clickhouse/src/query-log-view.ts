import { createHash } from 'node:crypto';
import { type ClickHouseClient, optionsOf } from './client.js';
import { type RenderTarget, renderMigration } from './migrations/render.js';

/**
 * The view `ops_query_log`: the queries of API requests, from the server's query log. `runCompiledQuery` sets their `log_comment`. The log has the
 * values of parameters in the text of a query, which may be an e-mail address or an external id; the view leaves all values out.
 */
export const QUERY_LOG_VIEW = `CREATE OR REPLACE VIEW ops_query_log \${cluster}
(
    time DateTime('UTC') COMMENT 'When it ended',
    endpoint String COMMENT 'Such as GET /events',
    workspace String COMMENT 'Public id of the workspace of the request',
    request String COMMENT 'Id of the request, as in X-Request-Id and the logs',
    duration_ms UInt64 COMMENT 'Time it took in ClickHouse',
    read_rows UInt64 COMMENT 'Rows it read',
    read_bytes UInt64 COMMENT 'Bytes it read',
    memory_bytes UInt64 COMMENT 'Most memory it held',
    error_code Int32 COMMENT 'Code of the error; 0 when there was none',
    query String COMMENT 'SQL, with a question mark in place of each value'
)
AS SELECT
    toTimeZone(q.event_time, 'UTC') AS time,
    extract(q.log_comment, '^([A-Z]+ /[^ ]*)') AS endpoint,
    extract(q.log_comment, ' workspace ([^ ]+)') AS workspace,
    extract(q.log_comment, ' request ([^ ]+)') AS request,
    q.query_duration_ms AS duration_ms,
    q.read_rows AS read_rows,
    q.read_bytes AS read_bytes,
    q.memory_usage AS memory_bytes,
    q.exception_code AS error_code,
    normalizeQuery(q.query) AS query
FROM \${nodes:system.query_log} AS q
WHERE q.is_initial_query AND q.type != 'QueryStart' AND match(q.log_comment, '^[A-Z]+ /')`;

/** The comment of a view, by which a later start recognizes its definition. ClickHouse prints a definition otherwise than it was sent. */
function commentOf(sql: string): string {
  return `definition ${createHash('sha256').update(sql).digest('hex').slice(0, 16)}`;
}

/** Whether every server that can be reached has the view with this comment. */
async function hasView(client: ClickHouseClient, comment: string, { cluster }: RenderTarget): Promise<boolean> {
  const counts = await client.rows<[string]>({
    query: renderMigration(
      `SELECT sum(database = {database:String} AND name = 'ops_query_log' AND comment = {comment:String}) AS found
        FROM \${nodes:system.tables}`,
      { cluster },
    ),
    parameters: { database: optionsOf(client).database, comment },
    // Each server answers with a row of its own, and those that are away with none.
    settings: cluster === undefined ? {} : { skip_unavailable_shards: 1, distributed_group_by_no_merge: 1 },
  });
  return counts.every(([found]) => found === '1');
}

/**
 * Creates the view `ops_query_log` if the server has a query log. The embedded server has none; another server creates the table of the log
 * together with its first entries. It can run at every start: it changes nothing where the view is as it should be.
 *
 * @returns whether the view exists
 */
export async function applyQueryLogView(client: ClickHouseClient, { cluster }: RenderTarget = {}): Promise<boolean> {
  const [row] = await client.rows<[number]>({ query: 'EXISTS TABLE system.query_log' });
  if (row?.[0] !== 1) return false;
  const sql = renderMigration(QUERY_LOG_VIEW, { cluster });
  const comment = commentOf(sql);
  if (!(await hasView(client, comment, { cluster }))) await client.command({ query: `${sql}\nCOMMENT '${comment}'` });
  return true;
}
