import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { yieldToRequests } from '../../src/qr/yield-to-requests.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Creates a connection with both ends in this process. */
async function aConnection(): Promise<readonly [Socket, Socket]> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await accepted) as [Socket];
  closers.push(() => {
    client.destroy();
    server.close();
  });
  return [client, peer];
}

it('a request that has arrived is read before the work continues', async () => {
  const [[begin, work], [send, receive]] = await Promise.all([aConnection(), aConnection()]);
  let hasRead = false;
  receive.once('data', () => {
    hasRead = true;
  });
  const hadRead = new Promise<boolean>((resolve, reject) => {
    // A request begins to be processed when its socket is read.
    work.once('data', () => {
      send.write('request');
      yieldToRequests().then(() => resolve(hasRead), reject);
    });
  });
  begin.write('request');
  expect(await hadRead).toBe(true);
});
