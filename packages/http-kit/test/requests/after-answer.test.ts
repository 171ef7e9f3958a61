import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type App, afterAnswer, answeredStatus } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

let app: App;
let answered: string[];
let gate: ReturnType<typeof aGate>;
let arrived: ReturnType<typeof aGate>;

beforeEach(async () => {
  answered = [];
  gate = aGate();
  arrived = aGate();
  ({ app } = aTestApp({ requireHttps: true, plainHttpPaths: ['/short', '/slow', '/long'] }, (routes) => {
    routes.get('/short', async () => 'short');
    routes.get('/slow', async () => {
      arrived.open();
      await gate.opened;
      return 'slow';
    });
    routes.get('/long', async () => 'a'.repeat(20_000_000));
  }));
  afterAnswer(app, (request, reply) => answered.push(`${request.url} ${answeredStatus(reply)}`));
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  gate.open();
  await app.close();
});

const port = () => (app.server.address() as AddressInfo).port;

function connectTo(path: string) {
  const socket = connect(port(), '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
  return socket;
}

it('an answered request is counted once, also one that a hook has refused', async () => {
  await (await fetch(`http://127.0.0.1:${port()}/short`)).text();
  await (await fetch(`http://127.0.0.1:${port()}/refused`)).text();
  await expect.poll(() => answered).toEqual(['/short 200', '/refused 403']);
  await app.close();
  expect(answered).toHaveLength(2);
});

it('a request whose client disconnects before the answer begins is counted once, with status 499', async () => {
  const socket = connectTo('/slow');
  await arrived.opened;
  socket.resetAndDestroy();
  await expect.poll(() => answered).toEqual(['/slow 499']);
  gate.open();
  await app.close();
  expect(answered).toHaveLength(1);
});

it('a request whose client disconnects before the answer ends is counted once, with the status that it got', async () => {
  const socket = connectTo('/long');
  await once(socket, 'readable');
  socket.resetAndDestroy();
  await expect.poll(() => answered).toEqual(['/long 200']);
  await app.close();
  expect(answered).toHaveLength(1);
});
