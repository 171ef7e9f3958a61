import { UnknownOutcomeError } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openConnections } from '../../src/redis/connections.js';
import { createQuotas } from '../../src/redis/quotas.js';

let server: TestRedis;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

it('the position of a killed process counts for a minute at most, also after the clock of Redis was set back', async () => {
  const connections = openConnections(client, 0, { warn: () => undefined });
  await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
  const [queue, killed] = ['waymark:quota:{ws_1}:links', 'killed|5'];
  const nowMs = async () => Number((await client.time())[0]) * 1000;
  await client.zadd(queue, 1, killed);
  await client.set(`${queue}:last`, 1);
  await client.hset(`${queue}:ends`, killed, (await nowMs()) + 3_600_000);
  await createQuotas(connections, Date.now).within(
    {
      ...{ workspaceId: 'ws_1', what: 'links', amount: 1, limit: 100, used: async () => 0 },
      refusal: () => new ApiError('forbidden', 'too many'),
    },
    async () => undefined,
  );
  expect(await client.zrange(queue, '0', '-1')).toEqual([killed]);
  expect(Number(await client.hget(`${queue}:ends`, killed))).toBeLessThan((await nowMs()) + 62_000);
  connections.close();
});

it.each([
  ['', 11_000],
  [', also if the clock was set back meanwhile', -11_000],
])(
  'a creation with an unknown outcome counts against the quota, because its records may still be stored; one that has failed does not%s',
  async (_case, stepMs) => {
    const connections = openConnections(client, 0, { warn: () => undefined });
    await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
    // Each reading of the clock is eleven seconds after the one before, or before it, so that a creation that has to wait gives up.
    let nowMs = 0;
    const quotas = createQuotas(connections, () => (nowMs += stepMs));
    const creating = (work: () => Promise<string>) =>
      quotas.within(
        {
          ...{ workspaceId: `ws_2${stepMs}`, what: 'links', amount: 3, limit: 5, used: async () => 0 },
          refusal: () => new ApiError('forbidden', 'too many'),
        },
        work,
      );
    const failed = new ApiError('conflict', 'The key is taken.');
    const lost = new UnknownOutcomeError(new Error('the connection was closed'));
    await expect(creating(() => Promise.reject(failed))).rejects.toBe(failed);
    await expect(creating(() => Promise.reject(lost))).rejects.toBe(lost);
    await expect(creating(async () => 'created')).rejects.toMatchObject({ code: 'internal_server_error' });
    connections.close();
  },
);
