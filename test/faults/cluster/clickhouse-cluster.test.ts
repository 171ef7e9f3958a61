import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { applyPlacement, type ClickHouseClient, createClickHouseClient, migrate, moveShard } from '@waymark/clickhouse';
import { environmentWith } from '@waymark/config';
import { createEventProducer, createEventWriter, type EventProducer, type EventWriter } from '@waymark/event-queue';
import { aClick, startRedis, type TestRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Faults of a cluster of real servers, two shards of three replicas: clickhouse/cluster/compose.yml starts them and this test, which is
 * skipped elsewhere. Servers are killed with SYSTEM KILL and started again by Docker.
 */
const { WAYMARK_TEST_CLUSTER_URL: url, WAYMARK_TEST_CLUSTER: cluster = '' } = environmentWith({});
/** Logical shards 0 and 1, on the first and on the second shard. */
const WORKSPACES = ['840', '841'];
const CLICKS = 2_000;
const MINUTES_5 = 300_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let client: ClickHouseClient;
let redis: TestRedis;
let producer: EventProducer;
let writer: EventWriter;

const hostsOf = (shard: number) =>
  client.rows<[string]>({
    query: 'SELECT host_name FROM system.clusters WHERE cluster = {cluster:String} AND shard_num = {shard:UInt32}',
    parameters: { cluster, shard },
  });

/** Kills the last replica of a shard; the connection is lost with it. */
async function killReplica(shard: number): Promise<void> {
  const host = (await hostsOf(shard)).at(-1)?.[0] ?? '';
  const address = new URL(url ?? '');
  address.hostname = host;
  const node = createClickHouseClient({ url: address.href, database: 'default' });
  await node.command({ query: 'SYSTEM KILL' }).catch(() => undefined);
  await node.close();
}

async function addClicks(count: number): Promise<void> {
  for (let added = 0; added < count; added += WORKSPACES.length) {
    const rows = WORKSPACES.map((workspaceId) => ({
      kind: 'click' as const,
      row: aClick({ workspaceId, linkId: '5', timestampMs: Date.now() }),
    }));
    await producer.commit({ rows, finals: [] });
    if (added % 100 === 0) await delay(10);
  }
}

async function counts(workspace: string) {
  const where = `WHERE workspace_id = ${workspace}`;
  const settings = { max_replica_delay_for_distributed_queries: 0 };
  const [events] = await client.rows({
    query: `SELECT count(), uniqExact(click_id) FROM click_events ${where}`,
    settings,
  });
  const [total] = await client.rows({ query: `SELECT sum(clicks) FROM link_totals ${where}`, settings });
  return [...(events as string[]), ...(total as string[])].map(Number);
}

async function expectEach(count: number): Promise<void> {
  await waitFor(
    async () => {
      for (const workspace of WORKSPACES) expect(await counts(workspace)).toEqual([count, count, count]);
      return true;
    },
    { what: `${count} events of each workspace, once`, timeoutMs: MINUTES_5 },
  );
}

describe.skipIf(url === undefined)('a cluster of real servers', () => {
  let spoolDirectory: string;
  beforeAll(async () => {
    client = createClickHouseClient({
      url: url ?? '',
      database: environmentWith({}).WAYMARK_TEST_CLUSTER_DATABASE ?? 'waymark',
    });
    await migrate(client, { cluster });
    await applyPlacement(client, { cluster });
    redis = await startRedis();
    spoolDirectory = temporaryDirectory('waymark-spool-');
    producer = createEventProducer({ redisUrl: redis.url, spoolDirectory, logger: silent });
    // Of a workspace that is not counted: repeated until the producer is connected.
    const first = { kind: 'click' as const, row: aClick({ workspaceId: '842', timestampMs: Date.now() }) };
    await waitFor(() => producer.commit({ rows: [first], finals: [] }).then(() => true), { what: 'the producer' });
    writer = createEventWriter({
      redisUrl: redis.url,
      clickhouse: client,
      isReplicated: true,
      cluster,
      shards: 2,
      logger: silent,
    });
  }, MINUTES_5);
  afterAll(async () => {
    await producer.close();
    await writer.close();
    await redis.stop();
    await client.close();
    rmSync(spoolDirectory, { recursive: true, force: true });
  });

  test(
    'loses and doubles no event when a replica of each shard is killed under load',
    async () => {
      const adding = addClicks(CLICKS);
      await killReplica(1);
      await killReplica(2);
      await adding;
      await expectEach(CLICKS / WORKSPACES.length);
    },
    MINUTES_5,
  );

  test(
    'moves a logical shard while events arrive and a replica is killed, with every event once',
    async () => {
      const adding = addClicks(CLICKS);
      const move = () => moveShard(client, { cluster, logical: 1, to: 1 });
      const first = move().catch((err: unknown) => err);
      await killReplica(2);
      const outcome = await first;
      if (outcome instanceof Error) await waitFor(move, { what: 'the move, again', timeoutMs: MINUTES_5 });
      await adding;
      await expectEach((2 * CLICKS) / WORKSPACES.length);
    },
    MINUTES_5,
  );
});
