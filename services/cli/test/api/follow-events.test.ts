import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { createApiRequests } from '../../src/api/api-requests.js';
import { followEvents } from '../../src/tail/follow-events.js';

const EVENTS = 2_000;
/** More than the system takes without a reader. */
const INTERRUPTED_EVENTS = 400;
const TEXT = 'x'.repeat(20_000);

/** An API that streams events as fast as they are read. */
async function startStream(events: number) {
  let response: ServerResponse | undefined;
  const server = createServer(async (_request, answer) => {
    response = answer;
    for (let id = 1; id <= events; id++) {
      if (!answer.write(`id: ${id}\nevent: click\ndata: "${TEXT}"\n\n`)) await once(answer, 'drain');
    }
    answer.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    api: `http://127.0.0.1:${port}`,
    isBlocked: () => response?.writableNeedDrain === true,
  };
}

const ENDED = new Error('ended by the test');

/** Follows the streams of an API until `stop` aborts. @returns what was said meanwhile */
async function follow(api: string, stop: AbortController, onEvent: (json: string) => Promise<void>): Promise<string[]> {
  const said: string[] = [];
  const onStatus = (text: string) => said.push(text);
  const { signal } = stop;
  const requests = createApiRequests({ api, newKey: async () => 'key', onStatus, signal });
  await expect(followEvents({ api: requests, path: '/', onEvent, onStatus, signal })).rejects.toBe(ENDED);
  return said;
}

it('a stream is read at the pace of what prints its events', async () => {
  const stream = await startStream(EVENTS);
  const stop = new AbortController();
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  let received = 0;
  const following = follow(stream.api, stop, async () => {
    received += 1;
    if (received === 1) await isReleased;
    if (received === EVENTS) stop.abort(ENDED);
  });
  await waitFor(() => received > 0 && stream.isBlocked(), { what: 'the stream to wait for its reader' });
  expect(received).toBe(1);
  release();
  await following;
  expect(received).toBe(EVENTS);
});

it('an interrupt at the last event ends it, also when the whole stream has arrived', async () => {
  const stream = await startStream(INTERRUPTED_EVENTS);
  const stop = new AbortController();
  let received = 0;
  await follow(stream.api, stop, async () => {
    received += 1;
    if (received === 1) await waitFor(stream.isBlocked, { what: 'the stream to wait for its reader' });
    if (received === INTERRUPTED_EVENTS) stop.abort(ENDED);
  });
  expect(received).toBe(INTERRUPTED_EVENTS);
});

it('a stream that ends, or is cut off, goes on after its last event, and after the pause that the API asks for', async () => {
  const retryMs = 900;
  const requests: { readonly atMs: number; readonly lastId: string | undefined }[] = [];
  const server = createServer((request, answer) => {
    const lastId = request.headers['last-event-id']?.toString();
    requests.push({ atMs: performance.now(), lastId });
    answer.write(
      `retry: ${retryMs}\nid: ${lastId ?? 0}\n\nid: ${requests.length}\nevent: sale\ndata: ${requests.length}\n\n`,
    );
    if (requests.length === 1) answer.end('event: bye\ndata: {"reason":"restart"}\n\n');
    else setImmediate(() => answer.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const stop = new AbortController();
  const received: string[] = [];
  const { port } = server.address() as AddressInfo;
  const said = await follow(`http://127.0.0.1:${port}`, stop, async (json) => {
    received.push(json);
    if (received.length === 3) stop.abort(ENDED);
  });
  expect(received).toEqual(['1', '2', '3']);
  expect(requests.map(({ lastId }) => lastId)).toEqual([undefined, '1', '2']);
  const [first, second, third] = requests.map(({ atMs }) => atMs) as [number, number, number];
  expect(Math.min(second - first, third - second)).toBeGreaterThan(retryMs - 50);
  expect(said).toEqual([
    ...['following', 'the stream has ended: {"reason":"restart"}; trying again'],
    ...['following again', 'the connection to the API is lost; trying again', 'following again'],
  ]);
});
