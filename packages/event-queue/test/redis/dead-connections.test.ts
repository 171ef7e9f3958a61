import { createEventId } from '@waymark/contract';
import { aClick, aSale, startTcpProxy, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aVisit, type QueueFixture, startQueueFixture } from '../queue-fixture.js';
import { startWriterFixture, type WriterFixture } from '../writer/writer-fixture.js';

// A dead connection: the other host is gone, or a router has dropped the connection. It stays open, but nothing is received.
// The two tests mostly wait, and share nothing, so they run at the same time.

const NOTICED_WITHIN_MS = 45_000;

let queue: QueueFixture;
let fixture: WriterFixture;
beforeAll(async () => {
  [queue, fixture] = await Promise.all([startQueueFixture(), startWriterFixture()]);
});
afterAll(() => Promise.all([queue.stop(), fixture.stop()]));

it.concurrent('a producer replaces a dead connection, and its clicks are queued once', {
  timeout: 90_000,
}, async () => {
  const producer = await queue.aProducer({ clickDeadlineMs: 50 });
  const visits = [aVisit('before'), aVisit('meanwhile')] as const;
  await producer.recordClick(visits[0]);
  queue.proxy.abandon();
  await producer.recordClick(visits[1]);
  const commit = () => producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] });
  await waitFor(
    () =>
      commit().then(
        () => true,
        () => false,
      ),
    { what: 'a sale to be accepted', timeoutMs: NOTICED_WITHIN_MS },
  );
  const clickIds = async () => (await queue.queued('click')).flatMap(({ rows }) => rows.map((row) => row[2]));
  await waitFor(async () => (await clickIds()).length === 2, { what: 'the click of the spool' });
  expect(new Set(await clickIds())).toEqual(new Set(visits.map(({ clickId }) => clickId)));
});

it.concurrent('a writer replaces dead connections, and writes the waiting jobs', { timeout: 90_000 }, async () => {
  const proxy = await startTcpProxy(fixture.redis.port);
  fixture.aWriter({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
  const click = () => {
    const timestampMs = Date.now();
    return aClick({ timestampMs, clickId: createEventId(timestampMs) });
  };
  const written = async () =>
    Number((await fixture.select<{ n: string }>('SELECT count() AS n FROM click_events'))[0]?.n);
  await fixture.add('click', [click()]);
  await waitFor(async () => (await written()) === 1, { what: 'the first click' });
  proxy.abandon();
  await fixture.add('click', [click()]);
  await waitFor(async () => (await written()) === 2, { what: 'the second click', timeoutMs: NOTICED_WITHIN_MS });
  await fixture.untilDrained();
  await proxy.stop();
});
