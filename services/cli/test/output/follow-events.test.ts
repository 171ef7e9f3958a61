import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
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
    url: `http://127.0.0.1:${port}`,
    isBlocked: () => response?.writableNeedDrain === true,
  };
}

it('a stream is read at the pace of what prints its events', async () => {
  const stream = await startStream(EVENTS);
  const stop = new AbortController();
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  let received = 0;
  const following = followEvents({
    url: stream.url,
    newKey: async () => 'key',
    onStatus: () => undefined,
    signal: stop.signal,
    async onEvent() {
      received += 1;
      if (received === 1) await isReleased;
      if (received === EVENTS) stop.abort();
    },
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
  await followEvents({
    url: stream.url,
    newKey: async () => 'key',
    onStatus: () => undefined,
    signal: stop.signal,
    async onEvent() {
      received += 1;
      if (received === 1) await waitFor(stream.isBlocked, { what: 'the stream to wait for its reader' });
      if (received === INTERRUPTED_EVENTS) stop.abort();
    },
  });
  expect(received).toBe(INTERRUPTED_EVENTS);
});
