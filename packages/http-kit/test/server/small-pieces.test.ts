import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import type { App, CreateAppOptions } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

/** The default of a second is too short while the machine is busy. */
const POLL = { timeout: 20_000 };
let app: App;
let handled = 0;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** A connection to an app, which keeps all that it receives. */
async function aConnection(options: Partial<CreateAppOptions> = {}) {
  handled = 0;
  ({ app } = aTestApp(options, (routes) => {
    routes.get('/got', async () => ({ got: true }));
    routes.post('/echo', async ({ body }) => {
      handled += 1;
      return { length: JSON.stringify(body).length };
    });
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  return { socket, closed, statuses: () => text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [], text: () => text };
}

const head = (line: string) =>
  `${line} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const chunks = (text: string) => [...text].map((piece) => `1\r\n${piece}\r\n`).join('');
const END = '0\r\n\r\n';
const GET = 'GET /got HTTP/1.1\r\nHost: a\r\n\r\n';
const JSON_BODY = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

describe('a body in chunks of one byte', () => {
  it('is read as any other while they are few, and the connection continues', async () => {
    const { socket, statuses, text } = await aConnection();
    socket.write(head('POST /echo') + chunks(JSON.stringify('a'.repeat(900))) + END + GET);
    await expect.poll(statuses, POLL).toEqual(['200', '200']);
    expect(text()).toContain('{"length":902}');
  });

  it.each([
    ['ends', END],
    ['does not end', ''],
    ['is followed by another request', `${END}POST /echo HTTP/1.1\r\nHost: a\r\n${JSON_BODY}`],
  ])('is refused when they are many, and the connection is closed, when it %s', async (_what, rest) => {
    const { socket, closed, statuses, text } = await aConnection();
    // The beginning of this body alone would be valid. All arrives in one packet, before the client can close the connection.
    socket.write(head('POST /echo') + chunks(`{}${' '.repeat(3000)}`) + rest);
    await closed;
    expect(statuses()).toEqual(['400']);
    expect(text()).toContain('Connection: close');
    expect(text()).toContain('"message":"The request body comes in too many small pieces."');
    expect(handled).toBe(0);
  });

  it.each(['POST /nope', 'GET /got', 'DELETE /nope'])('that %s does not need ends its connection', async (line) => {
    const { socket, closed, statuses } = await aConnection();
    socket.write(head(line));
    await expect.poll(statuses, POLL).toHaveLength(1);
    const before = statuses();
    socket.write(chunks(' '.repeat(100_000)));
    await closed;
    expect(statuses()).toEqual(before);
  });
});

it('a body that its client writes line by line, as short as lines are, is read', async () => {
  await aConnection();
  const lines = ['["first"', ...Array.from({ length: 5000 }, (_, line) => `,"line ${line + 1000}"\n`), ']'];
  const { port } = app.server.address() as AddressInfo;
  const headers = { 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: Readable.from(lines), duplex: 'half' } as unknown as RequestInit;
  const answer = await fetch(`http://127.0.0.1:${port}/echo`, sent);
  expect([answer.status, await answer.json()]).toEqual([200, { length: 9 + 5000 * 12 }]);
});

describe('a request without a route', () => {
  it('is answered before its body has arrived, and its connection continues after that', async () => {
    const { socket, statuses } = await aConnection();
    socket.write(`${head('POST /nope')}5\r\n"text`);
    await expect.poll(statuses, POLL).toEqual(['404']);
    socket.write(`\r\n1\r\n"\r\n${END}${GET}`);
    await expect.poll(statuses, POLL).toEqual(['404', '200']);
  });

  it.each([
    ['HTTP/1.1\r\nConnection: close', `5\r\n"text\r\n`, `1\r\n"\r\n${END}`, 'Transfer-Encoding: chunked'],
    ['HTTP/1.0', '"text', '"', 'Content-Length: 6'],
  ])('is answered after its body when the connection closes then: %s', async (version, first, rest, length) => {
    const { socket, closed, statuses } = await aConnection();
    const unknown = new Promise<IncomingMessage>((resolve) => app.server.once('request', resolve));
    socket.write(`POST /nope ${version}\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n${first}`);
    const request = await unknown;
    await expect.poll(() => request.readableFlowing, POLL).toBe(true);
    expect(statuses()).toEqual([]);
    socket.write(rest);
    await closed;
    expect(statuses()).toEqual(['404']);
  });

  it('whose body does not end is refused after the time of requests', async () => {
    const { socket, closed, statuses } = await aConnection({
      timeoutsMs: { headers: 200, request: 300, checkInterval: 50, unreadAnswer: 30_000 },
    });
    socket.write('POST /nope HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 6\r\n\r\n"text');
    await closed;
    expect(statuses()).toEqual(['400']);
  });

  it('is answered although its client waits to be asked for the body', async () => {
    const { socket, statuses } = await aConnection();
    socket.write('PUT /nope HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n');
    await expect.poll(statuses, POLL).toEqual(['100', '404']);
    socket.write(`{}${GET}`);
    await expect.poll(statuses, POLL).toEqual(['100', '404', '200']);
  });
});
