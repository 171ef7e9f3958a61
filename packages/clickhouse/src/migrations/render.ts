import { quoteIdentifier } from '../quote-identifier.js';

/** The servers for which SQL is rendered: one node, or all nodes of the cluster with that name in `system.clusters`. */
export interface RenderTarget {
  readonly cluster?: string | undefined;
}

/**
 * For how many of the latest blocks ClickHouse keeps deduplication tokens. An insert has a block for each partition: one of an import, which
 * divides its inserts by year, up to twelve on a cluster.
 */
const DEDUPLICATION_WINDOW = 10_000;
const DEDUPLICATION_SECONDS = 7 * 24 * 3600;
/**
 * `{shard}` and `{replica}` are macros of the server, `{uuid}` that of the table, which is the same on all servers, and new with each statement that
 * creates it: the tables of servers are replicas of each other only if one statement has created them (`addServers` uses the path of the others).
 */
const REPLICA_PATH = "'/clickhouse/tables/{uuid}/{shard}', '{replica}'";

/**
 * On a cluster, events expire by dropping whole partitions, so these are months. On one server they are years, because twelve times as many
 * partitions would slow every query.
 */
const YEARLY = 'PARTITION BY toYear(timestamp)';
const MONTHLY = 'PARTITION BY toYYYYMM(timestamp)';

const PLACEHOLDER = /\$\{(\w+)(?::([^{}]*))?\}/g;

/**
 * Renders a migration for one node or for a cluster by replacing its placeholders. On a cluster every table `t` becomes a replicated table
 * `t_local` on all nodes, behind a `Distributed` table named `t`, and events are partitioned by month instead of year. The placeholders
 * (one node | cluster):
 *
 * - `${local}`: nothing | `_local`
 * - `${cluster}`: nothing | `ON CLUSTER …`
 * - `${engine:MergeTree(args)}`: the engine | its `Replicated` form
 * - `${deduplication}`: the settings of the deduplication window
 * - `${distributed:table:key}`: nothing | the `Distributed` table, sharded by `key`
 * - `${nodes:system.table}`: a system table | the system tables of all nodes
 *
 * @throws Error for any other placeholder
 */
export function renderMigration(text: string, target: RenderTarget): string {
  const partitioned = target.cluster === undefined ? text : text.replace(YEARLY, MONTHLY);
  return partitioned.replace(PLACEHOLDER, (placeholder: string, name: string, argument: string | undefined) => {
    const rendered = renderPlaceholder(name, argument ?? '', target.cluster);
    if (rendered === undefined) throw new Error(`unknown placeholder ${placeholder}`);
    return rendered;
  });
}

function renderPlaceholder(name: string, argument: string, cluster: string | undefined): string | undefined {
  switch (name) {
    case 'local':
      return cluster === undefined ? '' : '_local';
    case 'cluster':
      return cluster === undefined ? '' : `ON CLUSTER ${quoteIdentifier(cluster)}`;
    case 'engine':
      return cluster === undefined ? argument : replicated(argument);
    case 'deduplication':
      return cluster === undefined
        ? `non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}`
        : `replicated_deduplication_window = ${DEDUPLICATION_WINDOW}, replicated_deduplication_window_seconds = ${DEDUPLICATION_SECONDS}`;
    case 'distributed':
      return cluster === undefined ? '' : distributed(argument, cluster);
    case 'nodes':
      return cluster === undefined ? argument : `clusterAllReplicas(${quoteIdentifier(cluster)}, ${argument})`;
    default:
      return undefined;
  }
}

function replicated(engine: string): string {
  const start = engine.endsWith(')') ? engine.indexOf('(') : engine.length;
  const [name, args] = [engine.slice(0, start), engine.slice(start + 1, -1)];
  return `Replicated${name}(${REPLICA_PATH}${args === '' ? '' : `, ${args}`})`;
}

function distributed(argument: string, cluster: string): string {
  const split = argument.indexOf(':');
  const table = argument.slice(0, split);
  const key = argument.slice(split + 1);
  const name = quoteIdentifier(cluster);
  return `CREATE TABLE IF NOT EXISTS ${table} ON CLUSTER ${name} AS ${table}_local\nENGINE = Distributed(${name}, currentDatabase(), ${table}_local, ${key});`;
}
