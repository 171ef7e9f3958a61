import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createHostResolver } from '../src/guarded-lookup.js';
import { AddressRefusedError, createOutbound } from '../src/index.js';

const HEADER_BYTES = 12;
const TYPES = { A: 1, AAAA: 28 } as const;
/** The address in an answer, as bytes; `no data`: the name has no address of that type. */
type Answer = readonly number[] | 'no data' | 'none';

const LOOPBACK = [127, 0, 0, 1];
const PRIVATE_IPV6 = [0xfd, ...Array.from({ length: 14 }, () => 0), 1];

const nameServers: Socket[] = [];
let receiver: Server | undefined;
afterEach(() => {
  for (const nameServer of nameServers.splice(0)) nameServer.close();
  receiver?.close();
});

/** The response to a query with one question, for a name whose only address is the given one. */
function responseTo(query: Buffer, address: readonly number[]): Buffer {
  const question = query.subarray(HEADER_BYTES, query.indexOf(0, HEADER_BYTES) + 5);
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  // A response without error, recursion available; one question; one answer or none.
  for (const [offset, value] of [
    [2, 0x8180],
    [4, 1],
    [6, address.length === 0 ? 0 : 1],
  ] as const)
    header.writeUInt16BE(value, offset);
  // The name of the question, its type and class, a minute to live, and the address.
  const record = [0xc0, HEADER_BYTES, ...question.subarray(-4), 0, 0, 0, 60, 0, address.length, ...address];
  return Buffer.concat([header, question, Buffer.from(address.length === 0 ? [] : record)]);
}

/** Starts a name server with the same answers for every name. @returns its address and port */
async function aNameServer(answers: Readonly<Record<keyof typeof TYPES, Answer>>): Promise<string> {
  const socket = createSocket('udp4');
  nameServers.push(socket);
  socket.on('message', (query, { port, address }) => {
    const type = query.readUInt16BE(query.indexOf(0, HEADER_BYTES) + 1);
    const answer = type === TYPES.A ? answers.A : answers.AAAA;
    if (answer !== 'none') socket.send(responseTo(query, answer === 'no data' ? [] : answer), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

/** The status of a request to a host that a name server with these answers resolves within `timeoutMs`, or the error. */
async function request(answers: Readonly<Record<keyof typeof TYPES, Answer>>, timeoutMs = 2_000): Promise<unknown> {
  receiver = createServer((_request, response) => void response.writeHead(204).end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const resolveHost = createHostResolver({ servers: [await aNameServer(answers)], timeoutMs });
  const client = createOutbound({ allowedRanges: ['127.0.0.0/8'], resolveHost });
  try {
    const url = `http://hooks.example.com:${port}/`;
    return (await client.send({ method: 'GET', url, headers: {}, timeoutMs: 10_000, responseBytesMax: 1 })).status;
  } catch (err) {
    return err;
  } finally {
    client.close();
  }
}

describe('a host whose name server', () => {
  it.each([
    ['has no IPv4 address, and does not answer the query for IPv6', { A: 'no data', AAAA: 'none' }],
    ['does not answer the query for IPv4, and has no IPv6 address', { A: 'none', AAAA: 'no data' }],
    ['does not answer the query for IPv4, and has a private IPv6 address', { A: 'none', AAAA: PRIVATE_IPV6 }],
    ['does not answer', { A: 'none', AAAA: 'none' }],
  ] as const)('%s is unavailable, not refused', async (_what, answers) => {
    expect(await request(answers, 100)).toMatchObject({ code: 'ETIMEOUT' });
  });

  it.each([
    ['has no address', { A: 'no data', AAAA: 'no data' }],
    ['has private addresses only', { A: [10, 0, 0, 1], AAAA: PRIVATE_IPV6 }],
  ] as const)('%s is refused', async (_what, answers) => {
    expect(await request(answers)).toBeInstanceOf(AddressRefusedError);
  });

  it('answers one of the queries with an allowed address is reached', async () => {
    expect(await request({ A: LOOPBACK, AAAA: 'none' })).toBe(204);
  });
});
