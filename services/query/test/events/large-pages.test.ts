import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ListedEvent } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

// Events have their whole link, and the image of a link may be a data URL of 100,000 characters.

const IMAGE = `data:image/png;base64,${'A'.repeat(100_000 - 22)}`;

let query: TestQuery;
let port: number;
beforeAll(async () => {
  query = await startQuery();
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = query.app.server.address() as AddressInfo);
});
afterAll(() => query.close());

function open({ token }: TestWorkspace, path: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers }, resolve).once('error', reject);
  });
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What this process holds, in bytes. */
function memoryHeld(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Counts the links that each read of records names. */
function countLinksRead(): () => number[] {
  const { getMany } = query.catalog.links;
  const spy = vi.spyOn(query.catalog.links, 'getMany').mockImplementation(getMany);
  onTestFinished(() => spy.mockRestore());
  return () => spy.mock.calls.map(([, ids]) => ids.length);
}

test('a page takes the memory of what its events share once, also of what its client has read already', async () => {
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'a', image: IMAGE });
  await workspace.store({ clicks: Array.from({ length: 500 }, () => workspace.click(link, 1)) });
  await (await open(workspace, '/events?limit=1')).toArray();
  const before = memoryHeld();
  const response = await open(workspace, '/events?limit=500');
  let bytes = 0;
  let wasPaused = false;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < 25_000_000 || wasPaused) return;
    wasPaused = true;
    response.pause();
  });
  await waitFor(() => wasPaused, { what: 'half of the answer' });
  // Buffers that were read are freed a moment after the collection.
  const isSmall = () => memoryHeld() - before < 15_000_000;
  await waitFor(isSmall, { what: 'what was read already to be freed', timeoutMs: 10_000 });
  response.resume();
  await new Promise((resolve) => response.once('close', resolve));
  expect(response.complete).toBe(true);
  expect(bytes).toBeGreaterThan(50_000_000);
});

test('the links of a page are read in parts if they are large, and all events are on it in their order', async () => {
  const workspace = await aWorkspace(query);
  const links = await Promise.all(
    Array.from({ length: 150 }, (_, index) => workspace.aLink({ key: `k${index}`, image: IMAGE })),
  );
  const clicks = links.flatMap((link, index) => [workspace.click(link, index), workspace.click(link, 1000 + index)]);
  await workspace.store({ clicks });
  const linksRead = countLinksRead();
  const response = await open(workspace, '/events?limit=1000');
  const events = JSON.parse(Buffer.concat(await response.toArray()).toString()) as ListedEvent[];
  expect(events.map(({ link }) => link.key)).toEqual([...links, ...links].map(({ key }) => key));
  expect(events.every(({ link }) => link.image === IMAGE && link.clicks === 2)).toBe(true);
  const [first, ...others] = linksRead();
  expect([first, others.length > 0, Math.max(...others) < 50]).toEqual([100, true, true]);
});

test('however small the first links of a page are, no more than 250 others are read together', async () => {
  const workspace = await aWorkspace(query);
  const links = await Promise.all(Array.from({ length: 400 }, (_, index) => workspace.aLink({ key: `k${index}` })));
  await workspace.store({ clicks: links.map((link, index) => workspace.click(link, index)) });
  const linksRead = countLinksRead();
  expect((await workspace.events({ limit: '1000' })).body).toHaveLength(400);
  expect(linksRead()).toEqual([100, 250, 50]);
});

test('the first hundred links of a page are read together, and then all others if they are small', async () => {
  const workspace = await aWorkspace(query);
  const links = await Promise.all(Array.from({ length: 300 }, (_, index) => workspace.aLink({ key: `k${index}` })));
  await workspace.store({ clicks: links.map((link, index) => workspace.click(link, index)) });
  const linksRead = countLinksRead();
  const { body } = await workspace.events({ limit: '1000' });
  expect(body.map(({ link }) => link.key)).toEqual(links.map(({ key }) => key));
  expect(linksRead()).toEqual([100, 200]);
});
