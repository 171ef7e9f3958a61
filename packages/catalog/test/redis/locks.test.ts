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
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

it.each([
  ['', 60_000],
  [', also if the clock was set back meanwhile', -60_000],
])(
  'the error of a lock that stays taken is logged with what is locked and whose it is, not with the name itself%s',
  async (_case, laterMs) => {
    const connections = openConnections(client, 0, { warn: () => undefined });
    await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
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
  const connections = openConnections(client, 0, { warn: () => undefined });
  await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
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
