import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startTcpProxy, waitFor } from '../src/index.js';

// The proxy is in this process, which reads from its sockets once between two turns.
const untilRead = async () => {
  for (let turn = 0; turn < 2; turn++) await immediate();
};

/** A server that keeps what it receives, and a proxy to it. */
async function startBehindProxy() {
  const received: string[] = [];
  const server = createServer((socket) => socket.on('data', (data) => received.push(data.toString())));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startTcpProxy((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    await proxy.stop();
    server.close();
  });
  const client = connect(proxy.port, '127.0.0.1');
  await once(client, 'connect');
  return { received, proxy, client };
}

test('requests that were held back count as passed on only when they are', async () => {
  const { received, proxy, client } = await startBehindProxy();
  client.write('first');
  await waitFor(() => received.length === 1, { what: 'the first request' });
  proxy.holdRequests();
  await new Promise<void>((resolve) => client.write('second', () => resolve()));
  await untilRead();
  expect(proxy.requestBytes()).toBe('first'.length);
  proxy.pass();
  client.write('third');
  await waitFor(() => received.join('') === 'firstsecondthird', { what: 'all requests' });
  expect(proxy.requestBytes()).toBe('firstsecondthird'.length);
});

test('requests are held back from the given occurrence of a text on', async () => {
  const { received, proxy, client } = await startBehindProxy();
  proxy.holdRequestsAt('insert', 2);
  for (const text of ['insert 1', 'select 2', 'insert 3', 'select 4']) {
    await new Promise<void>((resolve) => client.write(text, () => resolve()));
    await untilRead();
  }
  await waitFor(() => received.join('') === 'insert 1select 2', { what: 'the first requests' });
  expect(proxy.requestBytes()).toBe('insert 1select 2'.length);
  proxy.pass();
  await waitFor(() => received.join('').endsWith('insert 3select 4'), { what: 'all requests' });
});
