import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AddressRefusedError,
  createGuardedAgents,
  createOutbound,
  type Outbound,
  type OutboundOptions,
} from '../src/index.js';

const LOOPBACK = ['127.0.0.0/8'];
const servers: Server[] = [];
const clients: Outbound[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function aReceiver(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function aClient(options: Partial<OutboundOptions> = {}): Outbound {
  const client = createOutbound({ allowedRanges: LOOPBACK, ...options });
  clients.push(client);
  return client;
}

const post = { method: 'POST', headers: {}, body: '{}', timeoutMs: 5000, responseBytesMax: 1000 } as const;

describe('requests to URLs that users have chosen', () => {
  it('sends the body and reads the response', async () => {
    const port = await aReceiver((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => response.writeHead(201, { 'content-type': 'text/plain' }).end(`got ${body}`));
    });
    const answer = await aClient().send({ ...post, url: `http://127.0.0.1:${port}/hook`, body: '{"é":1}' });
    expect(answer).toMatchObject({ status: 201, contentType: 'text/plain', isTruncated: false });
    expect(answer.body.toString()).toBe('got {"é":1}');
  });

  it.each([
    'http://127.0.0.1:1/',
    'http://2130706433:1/',
    'http://0x7f.1:1/',
    'http://[::1]:1/',
    'http://[::ffff:127.0.0.1]:1/',
    'http://localhost:1/',
    'http://a.localhost:1/',
    'http://169.254.169.254/latest',
    'https://127.0.0.1:1/',
    'https://[::1]:1/',
  ])('refuses %s before it connects', async (url) => {
    await expect(aClient({ allowedRanges: [] }).send({ ...post, url })).rejects.toThrow(AddressRefusedError);
  });

  it('refuses names that do not exist and names of private addresses with the same error, which reveals no internal names', async () => {
    const refusalOf = (resolveHost: () => Promise<string[]>) =>
      aClient({ allowedRanges: [], resolveHost })
        .send({ ...post, url: 'http://a.internal.example/' })
        .catch((err: Error) => [err.name, err.message]);
    const refusals = await Promise.all(
      ['ENOTFOUND', 'ENODATA'].map((code) =>
        refusalOf(() => Promise.reject(Object.assign(new Error(`queryA ${code}`), { code }))),
      ),
    );
    const hidden = await refusalOf(async () => ['10.0.0.1']);
    expect(refusals).toEqual([hidden, hidden]);
  });

  it('connects to the address that was checked, even if the name resolves to another one later', async () => {
    let requests = 0;
    const port = await aReceiver((_request, response) => {
      requests += 1;
      response.end();
    });
    const answers = [['203.0.113.7'], ['127.0.0.1'], ['127.0.0.1']];
    const resolved: string[] = [];
    const client = aClient({
      allowedRanges: ['203.0.113.7'],
      async resolveHost(hostname) {
        resolved.push(hostname);
        return answers.shift() ?? [];
      },
    });
    // Even if the connection to the first address fails, the name is not resolved again within the request.
    await client.send({ ...post, url: `http://rebind.example:${port}/`, timeoutMs: 300 }).catch(() => undefined);
    expect(resolved).toEqual(['rebind.example']);
    await expect(client.send({ ...post, url: `http://rebind.example:${port}/` })).rejects.toThrow(AddressRefusedError);
    expect(requests).toBe(0);
  });

  it('uses only the public addresses of a name that also has private ones', async () => {
    const port = await aReceiver((_request, response) => response.end('here'));
    const resolveHost = async () => ['10.0.0.1', '127.0.0.1', 'fe80::1'];
    const answer = await aClient({ resolveHost }).send({ ...post, url: `http://many.example:${port}/` });
    expect(answer.body.toString()).toBe('here');
  });

  it('does not follow redirects', async () => {
    let isFollowed = false;
    const port = await aReceiver((request, response) => {
      isFollowed ||= request.url === '/inner';
      response.writeHead(302, { location: '/inner' }).end();
    });
    const answer = await aClient().send({ ...post, url: `http://127.0.0.1:${port}/` });
    expect([answer.status, isFollowed]).toEqual([302, false]);
  });

  it('stops reading a response that is too long', async () => {
    let isReading = true;
    const port = await aReceiver((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 1);
      response.on('close', () => {
        clearInterval(timer);
        isReading = false;
      });
    });
    const answer = await aClient().send({ ...post, url: `http://127.0.0.1:${port}/` });
    expect(answer).toMatchObject({ status: 200, isTruncated: true });
    expect(answer.body).toHaveLength(1000);
    // Before the time limit of the request, and before the client is closed.
    await expect.poll(() => isReading, { timeout: 4000 }).toBe(false);
  });

  it('a response of exactly the limit is whole', async () => {
    const port = await aReceiver((_request, response) => response.end('x'.repeat(1000)));
    const answer = await aClient().send({ ...post, url: `http://127.0.0.1:${port}/` });
    expect([answer.isTruncated, answer.body.length]).toEqual([false, 1000]);
  });

  it.each(['never answers', 'answers a byte at a time'])('times out for a receiver that %s', async (what) => {
    const port = await aReceiver((_request, response) => {
      if (what === 'never answers') return;
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const send = aClient().send({ ...post, url: `http://127.0.0.1:${port}/`, timeoutMs: 200 });
    await expect(send).rejects.toThrow('no answer within 200 ms');
  });

  it.each([
    ['does not end', () => undefined],
    ['is broken off', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    ['has a wrong form', (response: ServerResponse) => response.socket?.write('no chunk\r\n')],
  ])('a body that %s is an error, unless the status is enough', async (_what, breakOff) => {
    let requests = 0;
    const port = await aReceiver((_request, response) => {
      requests += 1;
      response.writeHead(202).write('some', () => breakOff(response));
    });
    const client = aClient();
    const request = { ...post, url: `http://127.0.0.1:${port}/`, timeoutMs: 1_500 };
    await expect(client.send(request)).rejects.toThrow();
    const answer = await client.send({ ...request, acceptsPartialBody: true });
    expect(answer).toMatchObject({ status: 202, isTruncated: true });
    expect(answer.body.toString()).toBe('some');
    expect(requests).toBe(2);
  });

  it('no answer at all is an error also where the status is enough, and the request is sent once', async () => {
    let requests = 0;
    const port = await aReceiver((_request, response) => {
      requests += 1;
      response.socket?.resetAndDestroy();
    });
    const send = aClient().send({ ...post, url: `http://127.0.0.1:${port}/`, acceptsPartialBody: true });
    await expect(send).rejects.toThrow();
    expect(requests).toBe(1);
  });

  it('close() ends the running request with an error and refuses later ones', async () => {
    let requests = 0;
    const client = aClient();
    const port = await aReceiver(() => {
      requests += 1;
      client.close();
    });
    const url = `http://127.0.0.1:${port}/`;
    await expect(client.send({ ...post, url })).rejects.toThrow('the client is closed');
    await expect(client.send({ ...post, url })).rejects.toThrow('the client is closed');
    expect(requests).toBe(1);
  });

  it('sends the request again if the keep-alive connection was closed', async () => {
    let requests = 0;
    const port = await aReceiver((request, response) => {
      requests += 1;
      if (requests === 2) request.socket.resetAndDestroy();
      else response.end();
    });
    const client = aClient();
    const url = `http://127.0.0.1:${port}/`;
    await client.send({ ...post, url });
    expect((await client.send({ ...post, url })).status).toBe(200);
    expect(requests).toBe(3);
  });

  it('accepts http and https URLs only', async () => {
    await expect(aClient().send({ ...post, url: 'ftp://127.0.0.1/' })).rejects.toThrow('only http and https');
  });
});

describe('agents for other HTTP clients', () => {
  const answerOf = (options: OutboundOptions, url: string) => {
    const agents = createGuardedAgents(options);
    return new Promise<number | undefined>((resolve, reject) => {
      const outgoing = request(url, { agent: agents.http }, (response) => resolve(response.resume().statusCode));
      outgoing.on('error', reject).end();
    }).finally(agents.close);
  };

  it.each(['http://127.0.0.1:1/', 'http://[::1]:1/', 'http://169.254.169.254/', 'http://localhost:1/'])(
    'refuse %s before they connect',
    async (url) => {
      await expect(answerOf({ allowedRanges: [] }, url)).rejects.toThrow(AddressRefusedError);
    },
  );

  it('refuse a name that has a private address, and connect to one that has an allowed address', async () => {
    const port = await aReceiver((_request, response) => response.writeHead(204).end());
    const resolveHost = async () => ['127.0.0.1'];
    const url = `http://storage.example:${port}/`;
    await expect(answerOf({ allowedRanges: [], resolveHost }, url)).rejects.toThrow(AddressRefusedError);
    expect(await answerOf({ allowedRanges: LOOPBACK, resolveHost }, url)).toBe(204);
  });
});
