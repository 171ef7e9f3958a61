import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis, type RedisOptions } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { isStoreUnavailable } from '../../src/index.js';

let server: TestRedis;
const clients: Redis[] = [];

function connect(url: string, options: RedisOptions = {}): Redis {
  const client = new Redis(url, options);
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

/** The error of a command. */
const errorOf = (command: Promise<unknown>) =>
  command.then(
    () => undefined,
    (err: unknown) => err,
  );

beforeAll(async () => {
  server = await startRedis();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => server.stop());

it.each([
  ['is not connected', () => connect(server.url, { lazyConnect: true, enableOfflineQueue: false }).get('a')],
  ['refuses connections', () => connect('redis://127.0.0.1:1', { maxRetriesPerRequest: 0 }).get('a')],
  ['does not answer in time', () => connect(server.url, { commandTimeout: 20 }).blpop('never', 60)],
  [
    'was disconnected before the command',
    async () => {
      const client = connect(server.url);
      await client.ping();
      client.disconnect();
      return client.get('a');
    },
  ],
  [
    'is disconnected before the answer',
    async () => {
      const client = connect(server.url);
      await client.ping();
      const answer = client.blpop('never', 60);
      client.disconnect();
      return answer;
    },
  ],
  [
    'takes no writes because it is a replica',
    async () => {
      const client = connect(server.url);
      await client.replicaof('127.0.0.1', 1);
      return client.set('a', '1').finally(() => client.replicaof('NO', 'ONE'));
    },
  ],
])('a command that fails because Redis %s may be repeated: the store is unavailable', async (_, command) => {
  const err = await errorOf(command());
  expect(err).toBeInstanceOf(Error);
  expect(isStoreUnavailable(err), String(err)).toBe(true);
  expect(isStoreUnavailable(new Error('could not be stored', { cause: err }))).toBe(true);
});

it('a command that Redis refuses for what it is would fail again: the store is available', async () => {
  const client = connect(server.url);
  await client.set('text', 'a');
  expect(isStoreUnavailable(await errorOf(client.incr('text')))).toBe(false);
});
