import { startTestCluster, type TestCluster } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  applyRetention,
  applySchema,
  type ClickHouseClient,
  createClickHouseClient,
  migrationStatus,
} from '../../src/index.js';

/** Two replicas, of which the second one is lost. */
let nodes: TestCluster;
let client: ClickHouseClient;
let second: ClickHouseClient;

beforeAll(async () => {
  nodes = await startTestCluster({ shards: 1, replicas: 2 });
  const [one = '', other = ''] = nodes.databases;
  client = createClickHouseClient({ url: nodes.url, database: one });
  second = createClickHouseClient({ url: nodes.url, database: other });
});
afterAll(async () => {
  await Promise.all([client.close(), second.close()]);
  await nodes.stop();
});

const RETENTION = { addressDays: 30, eventDays: 400 };

/** What every start does with the schema. */
const start = () => applySchema(client, { cluster: nodes.cluster, ...RETENTION });
const UNCHANGED = { applied: [], placed: [], retention: [], hasQueryLogView: true };

const commentOfView = async (of: ClickHouseClient) =>
  (
    await of.rows<[string]>({
      query: "SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = 'ops_query_log'",
    })
  )[0]?.[0];

test('the view of the query log is made on every node, and again where it is missing or another one', async () => {
  await start();
  // The engine has no query log. This table has the columns that the view reads.
  await client.command({
    query: `CREATE TABLE system.query_log (event_time DateTime, log_comment String, query_duration_ms UInt64, read_rows UInt64,
      read_bytes UInt64, memory_usage UInt64, exception_code Int32, query String, is_initial_query UInt8, type String) ENGINE = Memory`,
  });
  expect(await start()).toMatchObject(UNCHANGED);
  const comment = await commentOfView(client);
  expect(comment).toMatch(/^definition [0-9a-f]{16}$/);
  expect(await commentOfView(second)).toBe(comment);
  const changes = [
    'DROP VIEW ops_query_log',
    "CREATE OR REPLACE VIEW ops_query_log AS SELECT 1 AS n FROM system.query_log COMMENT 'definition of an earlier release'",
  ];
  for (const query of changes) {
    await second.command({ query });
    await start();
    expect(await commentOfView(second)).toBe(comment);
  }
});

test('a start with nothing to migrate sends nothing to all servers, so it succeeds while one of them is away', async () => {
  await nodes.loseNode(2);
  const { cluster } = nodes;
  await expect(applyRetention(client, { cluster })).rejects.toThrow('a server has not executed the statement');
  expect(await start()).toMatchObject(UNCHANGED);
  const states = (await migrationStatus(client, { cluster })).map(({ state }) => state);
  expect(new Set(states)).toEqual(new Set(['applied']));
});
