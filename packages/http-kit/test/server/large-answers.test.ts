import { EventEmitter } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { aWorkspaceRecord, waitFor } from '@waymark/test-kit';
import type { FastifyRequest } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { type App, createUnsentAnswers, type UnsentAnswers } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

/** Twice what the buffers of a connection within a machine hold. */
const LARGE = 20_000_000;
/** The fewest characters that are counted. */
const COUNTED = 1_000_001;
/** A workspace that has any unread answer gets no further one. */
const NONE_BESIDE = { bytesMax: 0, bytesPerWorkspaceMax: 0, bytesAlwaysAllowed: 0 };

let app: App;
let unsentAnswers: UnsentAnswers;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** Starts an app in which the header `workspace` names the workspace of a request. */
async function start(limits: Parameters<typeof createUnsentAnswers>[0], gate = aGate()): Promise<void> {
  unsentAnswers = createUnsentAnswers(limits);
  ({ app } = aTestApp({ unsentAnswers }, (routes) => {
    routes.addHook('onRequest', async (request: FastifyRequest) => {
      const id = request.headers.workspace;
      if (typeof id === 'string') request.workspace = aWorkspaceRecord({ id });
    });
    routes.get('/unread', async () => 'x'.repeat(LARGE));
    routes.route({ method: ['GET', 'POST'], url: '/text', handler: async () => 'x'.repeat(COUNTED) });
    routes.get('/bytes', async () => Buffer.alloc(COUNTED));
    routes.get('/small', async () => 'x'.repeat(COUNTED - 1));
    routes.get('/late', async () => {
      await gate.opened;
      return 'x'.repeat(COUNTED);
    });
    routes.get('/reserved', async (request, reply) => {
      unsentAnswers.reserve(request.workspace.id, reply, 1);
      return 'x'.repeat(COUNTED);
    });
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
}

/** Sends requests on one connection. @returns the client's end of it, which reads nothing */
function send(...paths: string[]): Socket {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket.pause());
  socket.on('error', () => undefined);
  for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nworkspace: one\r\n\r\n`);
  return socket;
}

const isRefused = (workspaceId = 'one') => {
  try {
    unsentAnswers.check(workspaceId);
    return false;
  } catch {
    return true;
  }
};
/** An answer that is never sent. */
const anAnswer = () => ({ raw: new EventEmitter(), request: { raw: { socket: new EventEmitter() } } }) as never;
const untilCounted = () => waitFor(() => isRefused(), { what: 'the answer to be counted' });
const untilGone = () => waitFor(() => !isRefused(), { what: 'the answer to count no more' });

async function ask(url: string, { method = 'GET', workspace = 'one' } = {}) {
  return app.inject({ method: method as 'GET', url, headers: workspace === '' ? {} : { workspace } });
}
const statusOf = async (...args: Parameters<typeof ask>) => (await ask(...args)).statusCode;

describe('while a workspace leaves a large answer unread', () => {
  it.each(['/text', '/bytes'])(
    'another is refused, and small answers and those of others are not: %s',
    async (path) => {
      await start(NONE_BESIDE);
      send('/unread');
      await untilCounted();
      const refused = await ask(path);
      const message = expect.stringContaining('have not been read yet');
      expect(refused.json()).toEqual({ error: expect.objectContaining({ code: 'rate_limit_exceeded', message }) });
      expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
      expect(await statusOf('/small')).toBe(200);
      expect(await statusOf(path, { workspace: 'two' })).toBe(200);
      expect(await statusOf(path, { workspace: '' })).toBe(200);
    },
  );

  it('a request that changes something is answered', async () => {
    await start(NONE_BESIDE);
    send('/unread');
    await untilCounted();
    expect(await statusOf('/text', { method: 'POST' })).toBe(200);
  });
});

describe('a large answer counts no more', () => {
  it('once it is read', async () => {
    await start(NONE_BESIDE);
    const client = send('/unread');
    await untilCounted();
    client.resume();
    await untilGone();
    expect(client.destroyed).toBe(false);
    expect(await statusOf('/text')).toBe(200);
  });

  it('once its connection is closed, also if it waits behind another on it', async () => {
    const both = LARGE + COUNTED;
    await start({ bytesMax: both, bytesPerWorkspaceMax: both, bytesAlwaysAllowed: 0 });
    const client = send('/unread', '/text');
    await untilCounted();
    client.destroy();
    await untilGone();
    unsentAnswers.reserve('one', anAnswer(), 1);
    expect(() => unsentAnswers.reserve('one', anAnswer(), both - 1)).not.toThrow();
  });

  it('when its client has left before it is sent', async () => {
    const gate = aGate();
    await start(NONE_BESIDE, gate);
    const closed = new Promise<void>((resolve) =>
      app.server.once('connection', (socket) => socket.once('close', () => resolve())),
    );
    const begun = new Promise<void>((resolve) => app.server.once('request', () => resolve()));
    const client = send('/late');
    await begun;
    client.destroy();
    await closed;
    gate.open();
    expect(await statusOf('/late')).toBe(200);
    expect(isRefused()).toBe(false);
  });

  it('when it is refused', async () => {
    await start(NONE_BESIDE);
    const client = send('/unread');
    await untilCounted();
    for (let refusal = 0; refusal < 5; refusal++) expect(await statusOf('/text')).toBe(429);
    client.destroy();
    await untilGone();
  });
});

it('an answer that its route has counted is not counted again', async () => {
  await start({ bytesMax: COUNTED, bytesPerWorkspaceMax: COUNTED, bytesAlwaysAllowed: 0 });
  expect(await statusOf('/reserved')).toBe(200);
});
