import { aLead, createTestDatabase, insertLeads, type TestDatabase, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Operations, startOperations } from '../src/index.js';
import { parseMetrics } from './metrics-text.js';

let database: TestDatabase;
let redis: Redis;
let operations: Operations;

beforeAll(async () => {
  database = await createTestDatabase();
  redis = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null });
  redis.on('error', () => {});
  operations = startOperations({
    ...{ service: 'writer', isWriter: true, redis, clickhouse: database.client, catalogLookups: () => ({}) },
    ...{ logger: { debug() {}, warn() {} }, intervalMs: { stores: 50 } },
  });
});
afterAll(async () => {
  await operations.close();
  redis.disconnect();
  await database.drop();
});

/** The values of a metric by table. */
async function valuesOf(metric: string): Promise<Record<string, number>> {
  const lines = parseMetrics(await operations.registry.metrics()).filter(({ name }) => name === metric);
  return Object.fromEntries(lines.map(({ labels, value }) => [labels.table, value]));
}

it('mutations that ClickHouse cannot carry out are in the metrics, with the age of the oldest, until they are gone', async () => {
  await insertLeads(database.client, [aLead()]);
  const failing = () => valuesOf('waymark_clickhouse_failing_mutations');
  expect(await failing()).toEqual({});
  await database.client.command({
    query: 'ALTER TABLE lead_events DELETE WHERE throwIf(workspace_id > 0)',
    clickhouse_settings: { mutations_sync: '0' },
  });
  await waitFor(async () => (await failing()).lead_events === 1, { what: 'the failing mutation' });
  const { lead_events: seconds = -1, ...others } = await valuesOf('waymark_clickhouse_mutation_age_seconds');
  expect([seconds >= 0 && seconds < 600, others]).toEqual([true, {}]);
  await database.client.command({
    query: "KILL MUTATION WHERE database = currentDatabase() AND table = 'lead_events'",
  });
  await waitFor(async () => Object.keys(await failing()).length === 0, { what: 'its end' });
});
