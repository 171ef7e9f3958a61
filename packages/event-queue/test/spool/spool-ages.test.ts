import { rmSync } from 'node:fs';
import { startTcpProxy, type TcpProxy, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EventProducer } from '../../src/index.js';
import { queueKey } from '../../src/queue/keys.js';
import { aVisit, type QueueFixture, startQueueFixture } from '../queue-fixture.js';

/** Two processes of ingest whose spools are in separate directories, such as two pods; the network of the second one can fail. */

let queue: QueueFixture;
let elsewhere: TcpProxy;
let otherDirectory: string | undefined;
beforeAll(async () => {
  queue = await startQueueFixture();
  elsewhere = await startTcpProxy(queue.redis.port);
});
afterEach(async () => {
  elsewhere.pass();
  await queue.reset();
  if (otherDirectory !== undefined) rmSync(otherDirectory, { recursive: true, force: true });
});
afterAll(async () => {
  await queue.stop();
  await elsewhere.stop();
});

function otherPod(): Promise<EventProducer> {
  otherDirectory = temporaryDirectory('waymark-other-spool-');
  const redisUrl = `redis://127.0.0.1:${elsewhere.port}`;
  return queue.aProducer({ redisUrl, spoolDirectory: otherDirectory, clickDeadlineMs: 50 });
}

const oldest = (producer: EventProducer) => producer.oldestQueuedMs('click');
const hourLater = () => Date.now() + 3_700_000;

describe('a click that waits in the spool of another directory', () => {
  it('counts as queued until it has been replayed', async () => {
    const producer = await queue.aProducer();
    const other = await otherPod();
    elsewhere.holdRequests();
    const clickedAt = Date.now();
    await other.recordClick(aVisit('ada'));
    expect(other.spoolBytes()).toBeGreaterThan(0);
    expect(await oldest(producer)).toBeLessThanOrEqual(clickedAt + 1000);

    elsewhere.pass();
    await waitFor(async () => (await queue.queued('click')).length === 1, { what: 'the replay' });
    await queue.admin.del(queueKey('click', 'wait'));
    await waitFor(async () => ((await oldest(producer)) ?? Date.now()) > clickedAt + 1000, { what: 'the new age' });
  });

  it('counts longer than some seconds when its process has ended before it was replayed', async () => {
    const minuteLater = await queue.aProducer({ now: () => Date.now() + 60_000 });
    const other = await otherPod();
    const used = Number(/used_memory:(\d+)/.exec(await queue.admin.info('memory'))?.[1]);
    await queue.admin.config('SET', 'maxmemory', Math.round(used / 0.9));
    await waitFor(() => other.load() === 'spool-clicks', { what: 'Redis to be nearly full' });
    const clickedAt = Date.now();
    await other.recordClick(aVisit('ada'));
    await other.close();
    expect(await queue.queued('click')).toEqual([]);
    expect(await oldest(minuteLater)).toBeLessThanOrEqual(clickedAt + 1000);
    await queue.admin.config('SET', 'maxmemory', 0);
  });

  it('counts for an hour when its process has been killed, and then no more', async () => {
    const producer = await queue.aProducer();
    const later = await queue.aProducer({ now: hourLater });
    const other = await otherPod();
    elsewhere.holdRequests();
    const clickedAt = Date.now();
    await other.recordClick(aVisit('ada'));
    // The process stays cut off, as one that was killed.
    await later.close();
    expect(await oldest(producer)).toBeLessThanOrEqual(clickedAt + 1000);
    const last = await queue.aProducer({ now: hourLater });
    expect(await oldest(last)).toBeUndefined();
  });
});

describe('an empty spool of another directory', () => {
  it('counts as if it had clicks from after its last announcement', async () => {
    const startedAt = Date.now();
    const producer = await queue.aProducer();
    await otherPod();
    await waitFor(async () => ((await oldest(producer)) ?? 0) > startedAt + 1000, { what: 'another announcement' });
  });

  it('does not count any more once its process has ended', async () => {
    const producer = await queue.aProducer();
    const other = await otherPod();
    expect(await oldest(producer)).toBeDefined();
    await other.close();
    await waitFor(async () => (await oldest(producer)) === undefined, { what: 'the end of its last value' });
  });
});

it('processes that share a directory read its files, and need no announcement', async () => {
  const producer = await queue.aProducer();
  await queue.aProducer();
  expect(await oldest(producer)).toBeUndefined();
});

it('a queued click may have any age for some seconds after a reconnection to Redis, which may have lost its data', async () => {
  const producer = await queue.aProducer();
  await otherPod();
  queue.proxy.cut();
  await queue.admin.flushall();
  await waitFor(() => producer.ping().then(() => true), { what: 'the connection' });
  expect(await oldest(producer)).toBe(0);
});
