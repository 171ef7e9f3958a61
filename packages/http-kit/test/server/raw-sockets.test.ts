import { METHODS } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { rounds } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/index.js';
import { aGate, aTestApp, DOC_BASE } from '../test-app.js';

let app: App;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

async function listen(options: Parameters<typeof aTestApp>[0] = {}): Promise<number> {
  ({ app } = aTestApp(options, (routes) => {
    routes.get('/echo', async (request) => ({ length: JSON.stringify(request.query).length }));
    routes.post('/echo', { schema: { body: z.object({ a: z.string() }) } }, async (request) => request.body);
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

interface Conversation {
  readonly socket: Socket;
  /** Everything received, once the server has closed the connection. */
  readonly answer: Promise<string>;
}

function talk(port: number, ...parts: readonly (string | Buffer)[]): Conversation {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', (err) => {
      text += `<${(err as NodeJS.ErrnoException).code}>`;
    });
    socket.on('close', () => resolve(text));
  });
  for (const part of parts) socket.write(part);
  return { socket, answer };
}

function expectErrorBody(answer: string, message: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(head.toLowerCase()).toContain('content-type: application/json');
  expect(head.toLowerCase()).toContain('connection: close');
  expect(head.toLowerCase()).toContain('cache-control: no-store\r\nx-content-type-options: nosniff');
  expect(JSON.parse(body)).toEqual({
    error: { code: 'bad_request', message, doc_url: `${DOC_BASE}/api-reference/errors#bad-request` },
  });
}

describe('bytes that are not a valid request', () => {
  it.each([
    ['noise', 'lorem ipsum\r\n\r\n'],
    ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex')],
    ['an unknown method', 'GRAB / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['an unknown version', 'GET /echo HTTP/7.0\r\nhost: a\r\n\r\n'],
    ['a space in the path', 'GET /a b HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a header without a colon', 'GET /echo HTTP/1.1\r\nhost\r\n\r\n'],
    ['two lengths', 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'a length and chunks',
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
    [
      'a broken chunk',
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    ],
  ])('%s answers 400 in the error body', async (_what, bytes) => {
    const port = await listen();
    expectErrorBody(await talk(port, bytes).answer, 'The request is not valid HTTP.');
  });

  it('a request without the Host header answers 400 in the error body; HTTP/1.0 has none', async () => {
    const port = await listen();
    for (const request of ['GET /', 'GET /nope', 'POST /']) {
      const answer = await talk(port, `${request} HTTP/1.1\r\nconnection: close\r\n\r\n`).answer;
      expectErrorBody(answer, 'The Host header is missing.');
    }
    expect(await talk(port, 'GET /echo HTTP/1.0\r\n\r\n').answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  const unexpected = METHODS.filter((method) => method !== 'CONNECT' && method !== 'GET' && method !== 'HEAD');
  it('every unexpected method is rejected, whatever headers and body it has', async () => {
    const port = await listen();
    const rests = [
      '\r\n',
      'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      'Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx',
      'Content-Length: 1\r\n\r\nx',
    ];
    for (const method of unexpected) {
      const ask = (path: string, rest: string) =>
        talk(port, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${rest}`).answer;
      const answers = (path: string) => Promise.all(rests.map((rest) => ask(path, rest)));
      for (const answer of await answers('/nope')) {
        expect(answer, method).toMatch(/^HTTP\/1\.1 404 [\s\S]*"code":"not_found"/);
      }
      for (const answer of await answers('/echo')) {
        expect(answer, method).toMatch(method === 'POST' ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 404 /);
      }
    }
  });

  it('no input makes a 500 or stops the server', async () => {
    const port = await listen();
    let answers = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE'),
        fc.oneof(fc.webPath(), fc.string({ unit: 'binary' }), fc.string()),
        fc.dictionary(
          fc.constantFrom('content-type', 'expect', 'accept-encoding', 'x-request-id', 'upgrade', 'forwarded'),
          fc.string(),
        ),
        fc.string(),
        async (method, path, headers, body) => {
          const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
          const request = `${method} /${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${lines.join('')}\r\n${body}`;
          const { socket, answer } = talk(port, request);
          // Half-closes the connection, so that the server stops waiting for more input.
          socket.end();
          const text = await answer;
          if (text.startsWith('HTTP/1.1 ')) answers += 1;
          expect(text).not.toMatch(/^HTTP\/1\.1 (5|405|413|415|417|431)/);
        },
      ),
      { numRuns: rounds(300, 100) },
    );
    expect(answers).toBeGreaterThan(rounds(250, 80));
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });
});

describe('sizes', () => {
  it('a query of 10,000 characters in any script passes', async () => {
    const port = await listen();
    const response = await fetch(`http://127.0.0.1:${port}/echo?query=${encodeURIComponent('語'.repeat(10_000))}`);
    expect(await response.json()).toEqual({ length: 10_000 + '{"query":""}'.length });
  });

  it('no header is dropped for the number of lines before it', async () => {
    ({ app } = aTestApp({}, (routes) => {
      routes.get('/headers', async ({ headers }) => ({ last: headers['x-forwarded-for'] }));
    }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const head = 'GET /headers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n';
    const answer = await talk(port, `${head}${'a:\r\n'.repeat(5000)}X-Forwarded-For: 192.0.2.1\r\n\r\n`).answer;
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"last":"192\.0\.2\.1"}/);
  });

  it('headers beyond the limit answer 400, which even a client that first sends everything can read', async () => {
    const port = await listen();
    const { socket, answer } = talk(port, 'GET /echo HTTP/1.1\r\nhost: a\r\nx: ');
    socket.pause();
    await new Promise((resolve) => socket.write('y'.repeat(2_000_000), resolve));
    socket.resume();
    expectErrorBody(await answer, 'The request headers are too large.');
  });

  it('a client that sends a far too large body can still read the error', async () => {
    const port = await listen();
    const response = await fetch(`http://127.0.0.1:${port}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ a: 'x'.repeat(8_000_000) }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: 'The request body is too large.' } });
  });

  const tooLarge = JSON.stringify({ a: 'x'.repeat(8_000_000) });
  it.each([
    ['with its length', `content-length: ${tooLarge.length}\r\n\r\n${tooLarge}`],
    ['in chunks', `transfer-encoding: chunked\r\n\r\n${tooLarge.length.toString(16)}\r\n${tooLarge}\r\n0\r\n\r\n`],
  ])(
    'a client that reads nothing before it has sent a far too large body %s gets the error, and may send more',
    async (_how, rest) => {
      const port = await listen();
      const { socket, answer } = talk(port);
      socket.pause();
      const head = 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';
      await new Promise((resolve) => socket.write(head + rest, resolve));
      socket.write('GET /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
      socket.resume();
      expect(await answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*The request body is too large\.[\s\S]*HTTP\/1\.1 200 /);
    },
  );
});

describe('slow clients', () => {
  const timeoutsMs = { headers: 200, request: 400, checkInterval: 50, unreadAnswer: 1000 };

  it.each([
    ['headers that never end', 'GET /echo HTTP/1.1\r\nhost: a\r\n'],
    [
      'a body that never ends',
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a"',
    ],
  ])('%s are answered 400 and cut off', async (_what, bytes) => {
    const port = await listen({ timeoutsMs });
    expectErrorBody(await talk(port, bytes).answer, 'The request took too long to arrive.');
  });

  it.each([
    ['never ends', 'application/json', 'content-length: 9000000\r\n\r\n{'],
    ['is not valid HTTP', 'text/plain', 'transfer-encoding: chunked\r\n\r\n'],
  ])('a body that %s after its request was answered gets no second answer', async (_what, type, rest) => {
    const port = await listen({ timeoutsMs });
    const { socket, answer } = talk(port, `POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\n${rest}`);
    socket.once('data', () => socket.write('zz\r\n'));
    expect((await answer).match(/HTTP\/1\.1 .*/g)).toEqual(['HTTP/1.1 400 Bad Request']);
  });

  it('a client that disconnects in the middle of its body does not affect others', async () => {
    const port = await listen();
    const { socket } = talk(
      port,
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    );
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.resetAndDestroy();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });
});

describe('a large answer', () => {
  /** Twice what the buffers of a connection within a machine hold. */
  const LARGE = 20_000_000;
  async function listenLarge(unreadAnswer: number): Promise<number> {
    ({ app } = aTestApp(
      { timeoutsMs: { headers: 1000, request: 1000, checkInterval: 1000, unreadAnswer } },
      (routes) => {
        routes.get('/large', async () => ({ text: 'x'.repeat(LARGE) }));
      },
    ));
    await app.listen({ host: '127.0.0.1', port: 0 });
    return (app.server.address() as AddressInfo).port;
  }
  const request = 'GET /large HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';

  it('that its client does not read is dropped together with the connection', async () => {
    const port = await listenLarge(50);
    const ended = new Promise((resolve) => app.server.once('connection', (socket) => socket.once('close', resolve)));
    const socket = connect(port, '127.0.0.1').pause();
    sockets.push(socket);
    socket.write(request);
    await ended;
  });

  it('that is read arrives, also after pauses that are shorter', async () => {
    const port = await listenLarge(10_000);
    const { socket, answer } = talk(port, request);
    socket.once('data', () => {
      socket.pause();
      setTimeout(() => socket.resume(), 50);
    });
    expect((await answer).length).toBeGreaterThan(LARGE);
  });
});

describe('small answers', () => {
  it('that their client does not read are dropped together with the connection, however many there are', async () => {
    ({ app } = aTestApp(
      { timeoutsMs: { headers: 1000, request: 1000, checkInterval: 1000, unreadAnswer: 200 } },
      (routes) => {
        routes.get('/small', async () => 'x'.repeat(900_000));
      },
    ));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const ended = new Promise((resolve) => app.server.once('connection', (socket) => socket.once('close', resolve)));
    const socket = connect(port, '127.0.0.1').pause();
    sockets.push(socket);
    socket.write('GET /small HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(40));
    await ended;
  });

  it('arrive, also after a time in which the process was still working on them', async () => {
    const released = aGate();
    ({ app } = aTestApp(
      { timeoutsMs: { headers: 1000, request: 1000, checkInterval: 1000, unreadAnswer: 50 } },
      (routes) => {
        routes.get('/slow', async () => {
          await released.opened;
          return { done: true };
        });
      },
    ));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const silent = new Promise((resolve) => app.server.once('timeout', resolve));
    const { answer } = talk(port, 'GET /slow HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await silent;
    released.open();
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});

describe('pipelining', () => {
  it('requests that a client sends in one packet are answered in their order', async () => {
    const port = await listen();
    const paths = Array.from({ length: 40 }, (_, index) => `/echo?${'a'.repeat(index + 1)}=1`);
    const last = 'GET /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    const { answer } = talk(port, paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join('') + last);
    const lengths = [...(await answer).matchAll(/"length":(\d+)/g)].map(([, length]) => Number(length));
    expect(lengths).toEqual([...paths.map((_, index) => index + 1 + '{"":"1"}'.length), 2]);
  });

  it('requests that wait on a connection are no warning of Node about listeners', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const port = await listen();
    const last = 'GET /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    await talk(port, 'GET /echo HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(40) + last).answer;
    expect(warnings).toEqual([]);
  });

  it('a client with more than fifty requests waiting is cut off, and no more of them are processed', async () => {
    let processed = 0;
    ({ app } = aTestApp({}, (routes) => {
      routes.get('/counted', async () => {
        processed += 1;
        return {};
      });
    }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const last = 'GET /counted HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    await talk(port, 'GET /counted HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1000) + last).answer;
    expect(processed).toBeGreaterThan(0);
    expect(processed).toBeLessThanOrEqual(51);
  });

  it('invalid bytes after a request in progress get no response of their own', async () => {
    const entered = aGate();
    const released = aGate();
    ({ app } = aTestApp({}, (routes) => {
      routes.get('/slow', async () => {
        entered.open();
        await released.opened;
        return { recorded: true };
      });
    }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const { socket, answer } = talk(port, 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
    await entered.opened;
    socket.write('garbage\r\n\r\n');
    expect(await answer).toBe('');
    released.open();
  });

  it('an unknown expectation is ignored rather than answered 417', async () => {
    const port = await listen();
    const { answer } = talk(port, 'GET /echo HTTP/1.1\r\nhost: a\r\nexpect: tea\r\nconnection: close\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});
