import { once } from 'node:events';
import { type Agent, request } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { AnswerRefusedError, createGuardedAgents, createOutbound } from '../src/index.js';

/** The default of a second is too short while the machine is busy. */
const POLL = { timeout: 20_000 };
const OPTIONS = { allowedRanges: ['127.0.0.0/8'] };
const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A receiver that writes to the connection itself. @returns its address */
async function aReceiver(answer: (socket: Socket, requests: number) => void): Promise<string> {
  let requests = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', () => answer(socket, ++requests));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Writes the same bytes until the other side closes the connection. */
function writeWithoutEnd(socket: Socket, bytes: string): void {
  const many = bytes.repeat(1000);
  const more = () => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on('drain', more);
  more();
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const UPGRADE = 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
const post = { method: 'POST', headers: {}, body: '{}', timeoutMs: 60_000 } as const;

/** Sends a request with a time limit that no test can wait for. */
async function sendTo(url: string, acceptsPartialBody = false, responseBytesMax = 1000) {
  const client = createOutbound(OPTIONS);
  try {
    return await client.send({ ...post, url, acceptsPartialBody, responseBytesMax });
  } finally {
    client.close();
  }
}

describe('a request ends before its time limit, and with it its connection, when the receiver', () => {
  it.each([
    ['changes the protocol', (socket: Socket) => socket.write(UPGRADE)],
    [
      'changes the protocol after early hints',
      (socket: Socket) => socket.write(`HTTP/1.1 103 Early\r\n\r\n${UPGRADE}`),
    ],
    ['sends early hints without end', (socket: Socket) => writeWithoutEnd(socket, 'HTTP/1.1 103 Early\r\n\r\n')],
    ['lets it continue without end', (socket: Socket) => writeWithoutEnd(socket, 'HTTP/1.1 100 Continue\r\n\r\n')],
  ])('%s', async (_what, answer) => {
    const url = await aReceiver(answer);
    for (const acceptsPartialBody of [false, true]) {
      await expect(sendTo(url, acceptsPartialBody)).rejects.toThrow(AnswerRefusedError);
    }
    await expect.poll(() => sockets.size, POLL).toBe(0);
  });

  it('sends its answer a byte at a time, unless the status is enough', async () => {
    const url = await aReceiver((socket) => {
      socket.write('HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n');
      writeWithoutEnd(socket, '1\r\nx\r\n');
    });
    await expect(sendTo(url, false, 1_000_000)).rejects.toThrow('the answer comes in too many small pieces');
    expect(await sendTo(url, true, 1_000_000)).toMatchObject({ status: 202, isTruncated: true });
    await expect.poll(() => sockets.size, POLL).toBe(0);
  });

  it.each([
    ['closes the connection', (socket: Socket) => socket.end()],
    ['closes the connection within the headers', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nConte')],
    ['answers as before HTTP/1.0', (socket: Socket) => socket.write('<p>Hello</p>')],
    [
      'sends trailers without end',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n');
        writeWithoutEnd(socket, 'A: b\r\n');
      },
    ],
  ])('%s', async (_what, answer) => {
    const url = await aReceiver(answer);
    await expect(sendTo(url)).rejects.toThrow();
    await expect.poll(() => sockets.size, POLL).toBe(0);
  });

  it('works on it for long, and says so: an answer may follow some informational ones', async () => {
    const url = await aReceiver((socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(50) + OK));
    expect((await sendTo(url)).body.toString()).toBe('ok');
  });
});

describe('the connections that agents keep', () => {
  /** Sends a request. @returns the body of its answer, once its connection is idle */
  async function answerOf(agent: Agent, url: string): Promise<string> {
    const outgoing = request(url, { agent }).end();
    const [response] = await once(outgoing, 'response');
    let body = '';
    for await (const piece of response) body += piece;
    await new Promise(setImmediate);
    return body;
  }
  const counts = (agent: Agent) => [
    ...[agent.sockets, agent.freeSockets].map((lists) => Object.keys(lists).length),
    (agent as Agent & { totalSocketCount: number }).totalSocketCount,
  ];

  it('are closed when bytes arrive that belong to no request, and the next request has a new one', async () => {
    let talk: () => void = () => undefined;
    const url = await aReceiver((socket, requests) => {
      socket.write(OK);
      if (requests === 1) talk = () => socket.write('x');
    });
    const { http, close } = createGuardedAgents(OPTIONS);
    await answerOf(http, url);
    expect(counts(http)).toEqual([0, 1, 1]);
    talk();
    await expect.poll(() => counts(http), POLL).toEqual([0, 0, 0]);
    expect(await answerOf(http, url)).toBe('ok');
    expect(await answerOf(http, url)).toBe('ok');
    expect(counts(http)).toEqual([0, 1, 1]);
    close();
  });

  it.each([
    ['a change of the protocol', UPGRADE],
    ['a second answer', OK + OK],
  ])('do not include one after %s', async (_what, bytes) => {
    const url = await aReceiver((socket) => socket.write(bytes));
    const { http, close } = createGuardedAgents(OPTIONS);
    await answerOf(http, url).catch(() => undefined);
    await expect.poll(() => counts(http), POLL).toEqual([0, 0, 0]);
    close();
  });

  it('leave nothing behind for an address that is refused', async () => {
    const { http, close } = createGuardedAgents({ allowedRanges: [] });
    await expect(answerOf(http, 'http://10.0.0.1:81/')).rejects.toThrow('no public address');
    expect(counts(http)).toEqual([0, 0, 0]);
    close();
  });
});
