import { aSale, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { memoryOf } from '../../src/redis/info.js';
import { aVisit, type QueueFixture, startQueueFixture } from '../queue-fixture.js';

const LIMIT_BYTES = 40_000_000;
let queue: QueueFixture;

beforeAll(async () => {
  queue = await startQueueFixture(['--maxmemory', String(LIMIT_BYTES)]);
});
afterAll(() => queue.stop());
afterEach(() => queue.reset());

const aSaleOnly = () => ({ rows: [{ kind: 'sale' as const, row: aSale() }], finals: [] });

/** Fills Redis up to a share of its limit. */
async function fillTo(share: number): Promise<void> {
  const { usedBytes } = memoryOf(await queue.admin.info('memory'));
  // Jemalloc rounds the size of a large value up by as much as an eighth; many small ones come closer to the target.
  const missing = LIMIT_BYTES * share - usedBytes;
  const piece = Buffer.alloc(40_000);
  const pipeline = queue.admin.pipeline();
  for (let index = 0; index < missing / 41_200; index++) pipeline.set(`ballast:${index}`, piece);
  await pipeline.exec();
}

describe('a Redis that runs out of memory', () => {
  it('sheds /track at 70 %, but still accepts clicks', async () => {
    const producer = await queue.aProducer({ memoryPollMs: 10 });
    await fillTo(0.75);
    await waitFor(() => producer.load() === 'shed-track', { what: 'the load to be detected' });
    await expect(producer.commit(aSaleOnly())).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterSeconds: expect.any(Number),
    });
    expect(await producer.recordClick(aVisit('a'))).toMatchObject({ isNew: true });
    expect(await queue.queued('click')).toHaveLength(1);
  });

  it('gets no clicks at 85 %: they stay on disk until memory is free again', async () => {
    const producer = await queue.aProducer({ memoryPollMs: 10 });
    const counted = aVisit('counted before');
    await producer.recordClick(counted);
    await fillTo(0.9);
    await waitFor(() => producer.load() === 'spool-clicks', { what: 'the load to be detected' });
    expect(await producer.recordClick(aVisit('counted before'))).toEqual({ clickId: counted.clickId, isNew: false });
    const click = aVisit('spooled');
    expect(await producer.recordClick(click)).toEqual({ clickId: click.clickId, isNew: true });
    expect((await queue.queued('click')).flatMap(({ rows }) => rows)).toHaveLength(1);
    await queue.admin.unlink(...(await queue.admin.keys('ballast:*')));
    await waitFor(async () => (await queue.queued('click')).flatMap(({ rows }) => rows).length === 2, {
      what: 'the spool to be replayed',
    });
  });

  it('loses no click and acknowledges no commit at the limit', async () => {
    const producer = await queue.aProducer({ memoryPollMs: 60_000 });
    await fillTo(1.05);
    const clicks = Array.from({ length: 20 }, (_, visitor) => aVisit(`full-${visitor}`));
    for (const click of clicks) expect(await producer.recordClick(click)).toMatchObject({ isNew: true });
    await expect(producer.commit(aSaleOnly())).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(await queue.queued('sale')).toEqual([]);
    await producer.close();
    await queue.admin.unlink(...(await queue.admin.keys('ballast:*')));
    expect((await queue.queued('click')).flatMap(({ rows }) => rows).length).toBeLessThan(clicks.length);
  });
});
