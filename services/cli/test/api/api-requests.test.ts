import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import {
  type ApiRequestsOptions,
  createApiRequests,
  RefusedRequest,
  requestedPauseMs,
} from '../../src/api/api-requests.js';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Requests to a server with that behaviour, the keys that were made, and what was said. */
async function requestsTo(listener: RequestListener, options: Partial<ApiRequestsOptions> = {}) {
  server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const said: string[] = [];
  let keys = 0;
  const requests = createApiRequests({
    ...{ api: `http://127.0.0.1:${port}`, newKey: async () => `key ${++keys}`, onStatus: (text) => said.push(text) },
    ...{ signal: new AbortController().signal, ...options },
  });
  return { requests, said };
}

function answer(response: Parameters<RequestListener>[1], status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
}

it('makes a new key when the one it used is not accepted any more', async () => {
  let revoked = '';
  const { requests } = await requestsTo(({ headers: { authorization = '' } }, response) => {
    if (authorization === revoked) answer(response, 401, 'unauthorized: revoked');
    else response.end(JSON.stringify(authorization));
  });
  const get = () => requests.untilDone(() => requests.json<string>({ path: '/' }));
  expect(await get()).toBe('Bearer key 1');
  revoked = 'Bearer key 1';
  expect(await get()).toBe('Bearer key 2');
});

it('ends when a new key is not accepted, and when the API refuses the request', async () => {
  let status = 401;
  const { requests } = await requestsTo((_request, response) => answer(response, status, `no: ${status}`));
  for (status of [401, 422]) {
    await expect(requests.untilDone(() => requests.json({ path: '/' }))).rejects.toThrow(`no: ${status}`);
  }
});

it('says with which code the API refuses', async () => {
  const { requests } = await requestsTo((_request, response) => {
    response.writeHead(404).end(JSON.stringify({ error: { message: 'Customer not found.', code: 'not_found' } }));
  });
  const refused = await requests.json({ path: '/' }).catch((err: unknown) => err);
  expect(refused).toBeInstanceOf(RefusedRequest);
  expect(refused).toMatchObject({ message: 'Customer not found.', code: 'not_found' });
});

it('gives up when nothing has arrived for too long, and says why', async () => {
  const { requests, said } = await requestsTo((_request, response) => answer(response, 503, 'away'), {
    giveUpAfterMs: 300,
  });
  await expect(requests.untilDone(() => requests.json({ path: '/' }))).rejects.toThrow(
    /^away; nothing has arrived for/,
  );
  // It has waited once, for longer than `giveUpAfterMs`.
  expect(said).toEqual(['away; trying again']);
});

it('waits as long as Retry-After says', async () => {
  const times: number[] = [];
  const { requests } = await requestsTo((_request, response) => {
    times.push(performance.now());
    if (times.length > 1) return response.end('1');
    response.setHeader('retry-after', '1');
    return answer(response, 429, 'busy');
  });
  expect(await requests.untilDone(() => requests.json({ path: '/' }))).toBe(1);
  expect(times[1]! - times[0]!).toBeGreaterThan(950);
});

it('does not repeat a request at once when the API names the time of the next one as a date', async () => {
  let count = 0;
  const { requests } = await requestsTo(
    (_request, response) => {
      count++;
      response.writeHead(503, { 'retry-after': new Date(Date.now() - 1_000).toUTCString() }).end();
    },
    { giveUpAfterMs: 400 },
  );
  await expect(requests.untilDone(() => requests.json({ path: '/' }))).rejects.toThrow('nothing has arrived');
  expect(count).toBe(2);
});

it.each([
  ['5', 5_000],
  ['999999999', 600_000],
  ['soon', 0],
  [null, 0],
])('a command that is asked to retry after %j waits %d ms', (header, ms) => {
  expect(requestedPauseMs(header)).toBe(ms);
});
