import { once } from 'node:events';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openConnections } from '../../src/redis/connections.js';

let server: TestRedis;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  // As the services set it for their own commands.
  client = new Redis(server.url, { commandTimeout: 2000 });
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

async function open(waitReplicas = 0) {
  const connections = openConnections(client, waitReplicas, { warn: () => undefined });
  const { subscriber } = connections;
  await waitFor(() => subscriber.status === 'ready', { what: 'the subscriber' });
  await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
  return connections;
}

it('the subscriber waits for its answers for as long as the connection is open', async () => {
  const { subscriber, close } = await open();
  expect(subscriber.options.commandTimeout).toBeUndefined();
  expect(subscriber.options.socketTimeout).toBeGreaterThan(0);
  close();
});

it('the subscriber reconnects whenever the connection for writes closes, as it does when its server becomes a replica', async () => {
  const { subscriber, run, close } = await open();
  const writerId = await run((redis) => redis.client('ID'));
  const closed = once(subscriber, 'close');
  await client.call('CLIENT', 'KILL', 'ID', writerId);
  await closed;
  await once(subscriber, 'ready');
  close();
});

it('a command that is run at once waits for no replicas, and not for a Redis that is away', async () => {
  const { run, runAtOnce, close } = await open(1);
  await expect(run((redis) => redis.ping())).rejects.toThrow();
  expect(await runAtOnce((redis) => redis.ping())).toBe('PONG');
  close();
  await expect(runAtOnce((redis) => redis.ping())).rejects.toThrow();
});
