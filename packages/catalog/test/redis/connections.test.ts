import { once } from 'node:events';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LockedError } from '../../src/model/errors.js';
import { openConnections } from '../../src/redis/connections.js';
import { createLocks } from '../../src/redis/locks.js';

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

it.each([
  ['', 60_000],
  [', also if the clock was set back meanwhile', -60_000],
])(
  'the error of a lock that stays taken is logged with what is locked and whose it is, not with the name itself%s',
  async (_case, laterMs) => {
    const connections = await open();
    const name = 'name/partner-email/prog_1/ada/lovelace@acme.com';
    await client.set(`waymark:lock:${name}`, 'another request');
    let nowMs = 0;
    const locks = createLocks(connections, () => nowMs);
    const refused = await locks.take([name], { whileBusy: () => (nowMs = laterMs) }).catch((err: unknown) => err);
    expect(refused).toBeInstanceOf(LockedError);
    expect((refused as LockedError).context).toEqual({ what: 'lock on name/partner-email/prog_1' });
    connections.close();
  },
);

it('requests that take the same names in different orders do not block each other', async () => {
  const connections = await open();
  const { take } = createLocks(connections, Date.now);
  let letGoOn = () => {};
  const goOn = new Promise<void>((resolve) => {
    letGoOn = resolve;
  });
  await client.set('waymark:lock:b', 'a third request');
  // The first request has one of the names when the other request begins.
  const first = take(['a', 'b'], { whileBusy: () => goOn });
  await waitFor(() => client.exists('waymark:lock:a'), { what: 'the first name to be taken' });
  await client.del('waymark:lock:b');
  const second = take(['b', 'a'], { whileBusy: letGoOn });
  await Promise.all([first, second].map(async (taking) => (await taking).release()));
  connections.close();
});
