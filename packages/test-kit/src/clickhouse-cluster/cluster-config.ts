/** A server of a test cluster: a database of one engine. */
export interface ClusterNode {
  /** From 1. */
  readonly number: number;
  readonly shard: number;
  readonly replica: number;
}

/** Limit on concurrent statements of all nodes. A statement that reaches other nodes runs one more on each of them. */
export const SESSIONS = 36;
/** The name of the cluster in `system.clusters`. */
export const TEST_CLUSTER = 'test_cluster';
/** The database in which replicated tables are created unchanged: the engine checks them and their paths in Keeper, but cannot write to them. */
export const KEEPER_CHECK = 'replicated';
/** A table in the database of each node that is read in place of the node's `system.replicas`. Tests may replace its rows. */
export const REPLICAS = 'test_replicas';
const DATABASE = 'waymark_node_';
const NODE_DATABASE = /\bwaymark_node_\d+\b/g;

/** The name of the database that stands for a node. */
export const databaseOf = ({ number }: Pick<ClusterNode, 'number'>) => `${DATABASE}${number}`;

/** The nodes of a cluster, shard after shard. */
export function clusterNodes(shards: number, replicas: number): ClusterNode[] {
  return Array.from({ length: shards * replicas }, (_, index) => ({
    number: index + 1,
    shard: Math.floor(index / replicas) + 1,
    replica: (index % replicas) + 1,
  }));
}

/**
 * A statement as the node runs it. Names of the other nodes' databases become its own, because on a real cluster the database has the same
 * name on every server.
 */
export function sqlOn(node: ClusterNode, sql: string): string {
  return sql
    .replace(NODE_DATABASE, databaseOf(node))
    .replace(/`?\bsystem`?\.`?replicas\b`?/g, `${databaseOf(node)}.${REPLICAS}`)
    .replaceAll('serverUUID()', `'server ${node.number}'`);
}

/** Whether a statement creates a replicated table. */
export const isReplicated = (sql: string) => /\bENGINE = Replicated/.test(sql);

/** The statement with a plain table in place of a replicated one: the engine creates replicated tables, but cannot write to them. */
export function withoutReplication(sql: string): string {
  return sql
    .replace(/\bENGINE = Replicated(\w+)\('[^']*', '[^']*'(?:, )?/, 'ENGINE = $1(')
    .replace(/\breplicated_deduplication_window =/, 'non_replicated_deduplication_window =');
}

const ON_CLUSTER = new RegExp(` ON CLUSTER [\`"]?${TEST_CLUSTER}[\`"]?`, 'g');

/** Whether a statement is ON CLUSTER, for all nodes. */
export const isForAll = (sql: string) => sql.search(ON_CLUSTER) >= 0;

/** The path in Keeper, and the name of the replica, that a statement gives to a replicated table. */
export function replicaOf(sql: string): { readonly table: string; readonly path: string; readonly replica: string } {
  const [, path = '', replica = ''] = /\bENGINE = Replicated\w+\('([^']*)', '([^']*)'/.exec(sql) ?? [];
  return { table: /\bTABLE (?:IF NOT EXISTS )?[`"]?(\w+)/i.exec(sql)?.[1] ?? '', path, replica };
}

/**
 * A statement that changes the schema as a server runs it: without ON CLUSTER, and with the values of its macros.
 *
 * @param uuid of the table, which is new in each statement ON CLUSTER, and the same on all servers; undefined: the statement is for one server
 * @throws Error for `{uuid}` without ON CLUSTER, as servers do
 */
export function ddlOn(node: ClusterNode, sql: string, uuid: string | undefined): string {
  if (uuid === undefined && sql.includes('{uuid}'))
    throw new Error("Code: 36. DB::Exception: Macro 'uuid' is supported only for ON CLUSTER queries. (BAD_ARGUMENTS)");
  const macros = { uuid, shard: String(node.shard), replica: String(node.replica), database: DATABASE };
  const own = sqlOn(node, sql.replace(ON_CLUSTER, ''));
  return own.replace(/\{(uuid|shard|replica|database)\}/g, (_, name: keyof typeof macros) => macros[name] ?? '');
}

const REPLICA = String.raw`\'/clickhouse/tables/{uuid}/{shard}\', \'{replica}\'`;
/** The definition of a table as a server prints it: there it is replicated. */
const DEFINITION = String.raw`replaceRegexpOne(
  replaceRegexpOne(create_table_query, 'ENGINE = (\\w*MergeTree)\\(', 'ENGINE = Replicated\\1(${REPLICA}, '),
  'ENGINE = (\\w*MergeTree)( |$)', 'ENGINE = Replicated\\1(${REPLICA})\\2')`;

/** A read that a client sends to a node, changed so that it returns the replicas of the node, and definitions of replicated tables. */
export function readOn(node: ClusterNode, sql: string): string {
  return sql
    .replaceAll(/\b(FROM|JOIN) system\.replicas\b/g, `$1 ${databaseOf(node)}.${REPLICAS}`)
    .replaceAll(/\bcreate_table_query\b/g, () => DEFINITION);
}

const element = (name: string, ...content: string[]) => `<${name}>${content.join('\n')}</${name}>`;

/** What the engine and the test cluster do themselves as the user. */
const OWN_GRANTS = [
  'SELECT ON system.events',
  'SELECT ON system.replicas',
  'KILL QUERY ON *.*',
  `ALL ON ${KEEPER_CHECK}.*`,
  'SHOW DATABASES ON default.*',
];

/** The system tables that every user of a server may read. */
const OPEN_TABLES = ['one', 'databases', 'tables', 'columns', 'settings', 'functions'];

/**
 * The system table that a statement reads and that a server would refuse to the user: unlike servers, the engine lets every user read all of
 * them. Undefined if there is none.
 */
export function refusedTable(sql: string, grants: readonly string[]): string | undefined {
  if (grants.length === 0) return undefined;
  const read = [...sql.matchAll(/\bsystem`?\.`?(\w+)/g)].map(([, table = '']) => table);
  return read.find(
    (table) => !OPEN_TABLES.includes(table) && !grants.some((grant) => grant.endsWith(` ON system.${table}`)),
  );
}

/** The privileges of the user as XML; all of them if none are given. */
function grantsXml(grants: readonly string[], nodes: readonly ClusterNode[]): string[] {
  if (grants.length === 0) return [];
  const ofNodes = grants.flatMap((grant) =>
    / ON waymark\./.test(grant)
      ? nodes.map((node) => grant.replace(' ON waymark.', ` ON ${databaseOf(node)}.`))
      : [grant],
  );
  return [element('grants', ...[...OWN_GRANTS, ...ofNodes].map((grant) => element('query', `GRANT ${grant}`)))];
}

/**
 * The configuration of the engine, as XML.
 *
 * @param path where it will be written; it names itself as the file of the users
 * @param ports the port of each node, in the order of `nodes`
 * @param grants see `TestClusterOptions`
 */
export function configurationXml(
  path: string,
  nodes: readonly ClusterNode[],
  ports: readonly number[],
  grants: readonly string[],
): string {
  const shards = new Map<number, string[]>();
  for (const node of nodes) {
    const address = [
      element('host', '127.0.0.1'),
      element('port', String(ports[node.number - 1])),
      element('default_database', databaseOf(node)),
      element('compression', 'false'),
    ];
    shards.set(node.shard, [...(shards.get(node.shard) ?? []), element('replica', ...address)]);
  }
  const cluster = [...shards.values()].map((replicas) =>
    element('shard', element('internal_replication', 'true'), ...replicas),
  );
  const user = [
    element('password', ''),
    element('networks', element('ip', '::/0')),
    element('profile', 'default'),
    element('quota', 'default'),
    ...grantsXml(grants, nodes),
  ];
  return element(
    'clickhouse',
    element('users_config', path),
    element('profiles', element('default', '')),
    element('quotas', element('default', '')),
    element('users', element('default', ...user)),
    // A Keeper in the memory of the engine.
    element('zookeeper', element('implementation', 'testkeeper')),
    element('macros', element('shard', '1'), element('replica', '1')),
    element('remote_servers', element(TEST_CLUSTER, ...cluster)),
  );
}
