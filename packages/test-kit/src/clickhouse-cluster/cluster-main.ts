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
  refusedTable,
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

const runQuietly = (sql: string, database?: string) =>
  engine.run(
    { sql, data: Buffer.alloc(0), database, format: 'Null', settings: new Map(), parameters: new Map() },
    never,
  );
await runQuietly(`CREATE DATABASE ${KEEPER_CHECK}`);

/** Runs statements of clients; those ON CLUSTER on each node, one after the other. */
async function run(statement: Statement, signal: AbortSignal) {
  assertReadable(statement.sql);
  if (!isForAll(statement.sql)) return engine.run(statement, signal);
  if (isNodeAway)
    throw new Error('Code: 159. DB::Exception: a server has not executed the statement. (TIMEOUT_EXCEEDED)');
  let result = await engine.run({ ...statement, sql: 'SELECT 1 WHERE 0' }, signal);
  const isDatabase = /^\s*CREATE DATABASE/i.test(statement.sql);
  for (const node of nodes) {
    const parameters = new Map([...statement.parameters].map(([name, value]) => [name, sqlOn(node, value)]));
    const sql = ddlOn(node, statement.sql);
    const onNode = { ...statement, database: isDatabase ? 'default' : databaseOf(node), parameters };
    if (isReplicated(sql)) await engine.run({ ...onNode, sql, database: KEEPER_CHECK }, signal);
    result = await engine.run({ ...onNode, sql: withoutReplication(sql) }, signal);
    if (isDatabase)
      await runQuietly(`CREATE TABLE IF NOT EXISTS ${REPLICAS} AS system.replicas ENGINE = Memory`, databaseOf(node));
  }
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
