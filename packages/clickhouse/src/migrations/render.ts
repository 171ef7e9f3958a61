import { quoteIdentifier } from '../quote-identifier.js';

/** The target of migrations: one node, or every node of a cluster. */
export interface RenderTarget {
  readonly cluster?: string | undefined;
}

/** Number of blocks kept for deduplication. An insert has one block per partition: with rows of five years it uses five. */
const DEDUPLICATION_WINDOW = 10_000;
const DEDUPLICATION_SECONDS = 7 * 24 * 3600;
/** `{uuid}`, `{shard}` and `{replica}` are macros of the server. */
export const REPLICA_PATH = "'/clickhouse/tables/{uuid}/{shard}', '{replica}'";

/** Of large clusters whole partitions are dropped when events expire; on one server twelve times as many would cost every query. */
const YEARLY = 'PARTITION BY toYear(timestamp)';
const MONTHLY = 'PARTITION BY toYYYYMM(timestamp)';

const PLACEHOLDER = /\$\{(\w+)(?::([^{}]*))?\}/g;

/**
 * Replaces the placeholders of a migration, whose text differs between one node and a cluster. On a cluster every table `t` becomes
 * a replicated table `t_local` on all nodes, behind a `Distributed` table named `t`, and events are partitioned by month instead of
 * year. The placeholders (one node | cluster):
 *
 * - `${local}`: nothing | `_local`
 * - `${cluster}`: nothing | `ON CLUSTER …`
 * - `${engine:MergeTree(args)}`: the engine | its `Replicated` form
 * - `${deduplication}`: the settings of the deduplication window
 * - `${distributed:table:key}`: nothing | the `Distributed` table, sharded by `key`
 * - `${nodes:system.table}`: a system table | the system tables of all nodes
 */
export function renderMigration(text: string, target: RenderTarget): string {
  const partitioned = target.cluster === undefined ? text : text.replace(YEARLY, MONTHLY);
  return partitioned.replace(PLACEHOLDER, (placeholder: string, name: string, argument: string | undefined) => {
    const rendered = renderPlaceholder(name, argument ?? '', target.cluster);
    if (rendered === undefined) throw new Error(`unknown token ${placeholder}`);
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
