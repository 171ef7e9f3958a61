import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo, createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { createEmbeddedServer, Engine, loadNativeEngine, type Statement } from '@waymark/clickhouse-embedded';
import { readEmbeddedPassword } from '@waymark/config';
import {
  type ClusterNode,
  clusterNodes,
  configurationXml,
  databaseOf,
  ddlOn,
  isForAll,
  isReplicated,
  KEEPER_CHECK,
  REPLICAS,
  readOn,
  refusedTable,
  replicaOf,
  SESSIONS,
  sqlOn,
  withoutReplication,
} from './cluster-config.js';
import { createNativeServer } from './native-protocol/native-server.js';

/** The process of a test cluster: `cluster-main.ts <data directory> <shards> <replicas> <grants of the user>…`. */
const [dataDir = '', shards = '1', replicas = '1', ...grants] = process.argv.slice(2);
const nodes = clusterNodes(Number(shards), Number(replicas));
const never = new AbortController().signal;

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

let engine: Engine;

function assertReadable(sql: string): void {
  const table = refusedTable(sql, grants);
  if (table !== undefined)
    throw new Error(`Code: 497. DB::Exception: the grant SELECT ON system.${table} is necessary. (ACCESS_DENIED)`);
}

/** Settings that only say how the result is sent to another server. */
const OF_TRANSPORT = new Set(['implicit_table_at_top_level', 'max_parser_depth']);

function createNode(node: ClusterNode) {
  return createNativeServer(async ({ sql, data, database, settings, format }) => {
    assertReadable(sql);
    const { bytes } = await engine.run(
      {
        sql: sqlOn(node, sql),
        data,
        database: database === 'default' ? databaseOf(node) : database,
        format,
        settings: new Map([...settings].filter(([name]) => !OF_TRANSPORT.has(name))),
        parameters: new Map(),
      },
      never,
    );
    return bytes;
  });
}

const servers = nodes.map(createNode);
const connections = new Set<Socket>();
for (const server of servers) {
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
}
/** Whether a node is away, see `loseNode` of `start-cluster.ts`. */
let isNodeAway = false;
const ports = await Promise.all(servers.map(listening));
mkdirSync(dataDir, { recursive: true });
const path = join(dataDir, 'cluster.xml');
writeFileSync(path, configurationXml(path, nodes, ports, grants));
engine = new Engine(loadNativeEngine(), {
  dataDir: join(dataDir, 'data'),
  args: [`--config-file=${path}`],
  concurrency: SESSIONS,
  isUnchecked: true,
  onBroken: (err) => {
    throw err;
  },
  onFailedWrite: () => {
    throw new Error('a write to a file has failed');
  },
});

const runQuietly = (sql: string, database?: string, format = 'Null') =>
  engine.run({ sql, data: Buffer.alloc(0), database, format, settings: new Map(), parameters: new Map() }, never);
await runQuietly(`CREATE DATABASE ${KEEPER_CHECK}`);

/** Creates a replicated table on a node as a plain one that says where its replica is. @param sql the statement with the values of its macros */
async function createReplicated(node: ClusterNode, statement: Statement, sql: string, signal: AbortSignal) {
  const { table, path, replica } = replicaOf(sql);
  const { bytes } = await runQuietly(`EXISTS TABLE ${table}`, databaseOf(node), 'TSVRaw');
  if (bytes.toString() !== '0\n') return engine.run({ ...statement, sql: withoutReplication(sql) }, signal);
  await engine.run({ ...statement, sql, database: KEEPER_CHECK }, signal);
  const result = await engine.run({ ...statement, sql: withoutReplication(sql) }, signal);
  await runQuietly(
    `ALTER TABLE ${REPLICAS} DELETE WHERE table = '${table}' SETTINGS mutations_sync = 1`,
    databaseOf(node),
  );
  await runQuietly(
    `INSERT INTO ${REPLICAS} (database, table, zookeeper_path, replica_name) SELECT currentDatabase(), '${table}', '${path}', '${replica}'`,
    databaseOf(node),
  );
  return result;
}

/** Runs a statement of a client on one node. @param uuid see {@link ddlOn} */
async function runOn(node: ClusterNode, statement: Statement, signal: AbortSignal, uuid?: string) {
  const sql = ddlOn(node, statement.sql, uuid);
  return isReplicated(sql) ? createReplicated(node, statement, sql, signal) : engine.run({ ...statement, sql }, signal);
}

/** A statement that was made from the definition on another server, whose database has the same name on a real cluster. */
const FROM_DEFINITION = /^\s*CREATE (?:TABLE|VIEW|MATERIALIZED VIEW) IF NOT EXISTS/i;
const DATABASE_CREATION = /^\s*CREATE DATABASE/i;

/** Creates what a server has in `system` and a node has in its database. */
async function addReplicas(): Promise<void> {
  for (const database of nodes.map(databaseOf)) {
    const { bytes } = await runQuietly(`EXISTS DATABASE ${database}`, 'default', 'TSVRaw');
    if (bytes.toString() === '1\n')
      await runQuietly(`CREATE TABLE IF NOT EXISTS ${REPLICAS} AS system.replicas ENGINE = Memory`, database);
  }
}

/** Runs a statement of a client that is not ON CLUSTER. */
async function runDirectly(statement: Statement, signal: AbortSignal) {
  const node = nodes.find((one) => databaseOf(one) === statement.database);
  if (node === undefined) return engine.run(statement, signal);
  if (FROM_DEFINITION.test(statement.sql)) return runOn(node, statement, signal);
  return engine.run({ ...statement, sql: readOn(node, statement.sql) }, signal);
}

/** Runs statements of clients; those ON CLUSTER on each node, one after the other. */
async function run(statement: Statement, signal: AbortSignal) {
  assertReadable(statement.sql);
  const isDatabase = DATABASE_CREATION.test(statement.sql);
  if (!isForAll(statement.sql)) {
    const result = await runDirectly(statement, signal);
    if (isDatabase) await addReplicas();
    return result;
  }
  if (isNodeAway)
    throw new Error('Code: 159. DB::Exception: a server has not executed the statement. (TIMEOUT_EXCEEDED)');
  let result = await engine.run({ ...statement, sql: 'SELECT 1 WHERE 0' }, signal);
  const uuid = randomUUID();
  for (const node of nodes) {
    const parameters = new Map([...statement.parameters].map(([name, value]) => [name, sqlOn(node, value)]));
    const database = isDatabase ? 'default' : databaseOf(node);
    result = await runOn(node, { ...statement, database, parameters }, signal, uuid);
  }
  if (isDatabase) await addReplicas();
  return result;
}

const server = createEmbeddedServer(
  { run },
  {
    password: readEmbeddedPassword(),
    version: 'test',
    requestBytesMax: 128 * 1024 * 1024,
    baseSettings: { async_insert: '0', session_timezone: 'UTC' },
  },
);
process.on('message', (lost: number) => {
  isNodeAway = true;
  servers[lost - 1]?.close(() => process.send?.({ lost }));
  // Also those between other nodes, which are made again.
  for (const socket of connections) socket.destroy();
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.send?.({ port: await listening(server) });
