import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHeartbeat } from '../src/components/heartbeat.js';
import { createInstanceRegistry } from '../src/components/instance-registry.js';

const SILENT = { info() {}, warn() {}, error() {}, debug() {} };

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

test('a process whose registration was stored, but not answered, counts as started once and never as killed', async () => {
  const registry = createInstanceRegistry(redis);
  let lost = 0;
  const lossy = {
    ...registry,
    async started(...args: Parameters<typeof registry.started>) {
      await registry.started(...args);
      lost += 1;
      throw new Error('the connection was lost');
    },
  };
  const heartbeat = startHeartbeat({
    ...{ registry: lossy, service: 'query', version: '0', logger: SILENT, now: Date.now, intervalMs: 10 },
  });
  await waitFor(() => heartbeat.beatingSince() !== undefined, { what: 'a heartbeat that Redis has answered' });
  const { instances, starts, kills } = await registry.read();
  await heartbeat.close();
  expect([lost, instances.map(({ isAlive }) => isAlive), starts, kills]).toEqual([1, [true], { query: '1' }, {}]);
  expect((await registry.read()).instances).toEqual([]);
});

test('a process that starts on one host does not mark one of another host as killed, although in containers both have the same pid', async () => {
  const registry = createInstanceRegistry(redis);
  const beatAt = Date.now();
  const place = { service: 'ingest', instance: `elsewhere:${process.pid}`, host: 'elsewhere', pid: process.pid };
  const other = { ...place, startedAt: beatAt, version: '0', lastWorkAt: null, beatAt };
  await registry.started(other);
  const heartbeat = startHeartbeat({
    ...{ registry, service: 'ingest', version: '0', logger: SILENT, now: Date.now, intervalMs: 10 },
  });
  await waitFor(() => heartbeat.beatingSince() !== undefined, { what: 'the registration' });
  const { instances, kills } = await registry.read();
  await heartbeat.close();
  expect([instances.map(({ isAlive }) => isAlive), kills]).toEqual([[true, true], {}]);
});
