import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { claimKey, rowsKey } from '../../src/queue/keys.js';
import { aVisit, type QueueFixture, startQueueFixture } from '../queue-fixture.js';

const HOUR_MS = 3_600_000;
let queue: QueueFixture;

beforeAll(async () => {
  queue = await startQueueFixture();
});
afterAll(() => queue.stop());
afterEach(async () => {
  vi.restoreAllMocks();
  await queue.reset();
});

/** Ids of the clicks that a writer would write, without the discarded rows. */
const queuedIds = async () => {
  const jobs = await queue.queued('click');
  return jobs.flatMap(({ rows, progress }) => {
    const discarded: number[] = JSON.parse(progress || '{}').struck ?? [];
    return rows.flatMap((row, index) => (discarded.includes(index) ? [] : row[2]));
  });
};

/** Renames the spool's files so that they belong to a process that has ended. */
async function orphanSpoolFiles(directory: string): Promise<void> {
  const dead = spawn(process.execPath, ['-e', '']);
  await once(dead, 'exit');
  for (const name of await readdir(directory)) {
    const parts = name.split('~');
    await rename(join(directory, name), join(directory, [parts[0], dead.pid, ...parts.slice(2)].join('~')));
  }
}

describe('recording clicks', () => {
  it('other processes find the row of a findable click for as long as it is queued', async () => {
    const [producer, other] = await Promise.all([queue.aProducer(), queue.aProducer()]);
    const clicks = ['a', 'b', 'c', 'd'].map((visitor, index) => ({
      // Characters of one, two and four bytes.
      ...aVisit(visitor, { city: 'é😀'.repeat(index) }),
      isFindable: index % 2 === 1,
    }));
    await Promise.all(clicks.map((click) => producer.recordClick(click)));
    const found = await Promise.all(clicks.map(({ clickId }) => other.findQueuedClick(clickId)));
    expect(found).toEqual(clicks.map(({ rowText, isFindable }) => (isFindable ? rowText : undefined)));
    expect(await other.findQueuedClick('*')).toBeUndefined();
    for (const { id } of await queue.queued('click')) await queue.admin.del(rowsKey('click', id));
    expect(await other.findQueuedClick(clicks[1]?.clickId ?? '')).toBeUndefined();
  });

  it('goes on once Redis answers again, also while the disk hangs that was to store clicks meanwhile', async () => {
    const file = await open(import.meta.filename);
    const files: typeof file = Object.getPrototypeOf(file);
    await file.close();
    let syncs = 0;
    let end = () => {};
    const hanging = new Promise<void>((resolve) => {
      end = resolve;
    });
    vi.spyOn(files, 'datasync').mockImplementation(() => {
      syncs += 1;
      return hanging;
    });
    const producer = await queue.aProducer({ clickDeadlineMs: 50 });
    const clicks = ['a', 'b', 'c'].map((visitor) => aVisit(visitor));
    const [first, second, third] = clicks.map(
      (click) => () => producer.recordClick(click),
    ) as (() => Promise<object>)[];
    queue.proxy.holdRequests();
    const recorded = [first?.()];
    await waitFor(() => syncs === 1, { what: 'the disk to hang' });
    recorded.push(second?.());
    queue.proxy.pass();
    recorded.push(third?.());
    await recorded[2];
    expect(await queuedIds()).toContain(clicks[2]?.clickId);
    end();
    await Promise.all(recorded);
    await waitFor(async () => producer.spoolBytes() === 0, { what: 'the replay' });
    expect((await queuedIds()).sort()).toEqual(clicks.map(({ clickId }) => clickId).sort());
  });

  it('queues a click before acknowledging it', async () => {
    const producer = await queue.aProducer();
    const click = aVisit('a');
    expect(await producer.recordClick(click)).toEqual({ clickId: click.clickId, isNew: true });
    expect(await queuedIds()).toEqual([click.clickId]);
  });

  it('puts concurrent clicks into one job', async () => {
    const producer = await queue.aProducer();
    await Promise.all(Array.from({ length: 50 }, (_, visitor) => producer.recordClick(aVisit(`together-${visitor}`))));
    const jobs = await queue.queued('click');
    expect(jobs.flatMap(({ rows }) => rows)).toHaveLength(50);
    expect(jobs.length).toBeLessThan(5);
  });

  it('records one click an hour per visitor, and returns its id for the other visits', async () => {
    const producer = await queue.aProducer();
    const results = await Promise.all(Array.from({ length: 20 }, () => producer.recordClick(aVisit('same'))));
    results.push(await producer.recordClick(aVisit('same')));
    expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(results.map(({ clickId }) => clickId)).size).toBe(1);
    expect(await queuedIds()).toEqual([results[0]?.clickId]);
  });

  it('records one click when the same visitor reaches several processes at once', async () => {
    const producers = await Promise.all(Array.from({ length: 4 }, () => queue.aProducer()));
    for (let round = 0; round < 20; round++) {
      const results = await Promise.all(producers.map((producer) => producer.recordClick(aVisit(`round-${round}`))));
      expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(new Set(results.map(({ clickId }) => clickId)).size).toBe(1);
    }
    expect(await queuedIds()).toHaveLength(20);
  });

  it('expires a claim after an hour', async () => {
    const producer = await queue.aProducer();
    await producer.recordClick(aVisit('hourly'));
    const left = await queue.admin.pttl(claimKey(aVisit('hourly').claim));
    expect(left).toBeGreaterThan(HOUR_MS - 60_000);
    expect(left).toBeLessThanOrEqual(HOUR_MS);
  });

  it('refuses a row over the limit', async () => {
    const producer = await queue.aProducer();
    const click = aVisit('huge', { userAgent: 'x'.repeat(101_000) });
    await expect(producer.recordClick(click)).rejects.toMatchObject({ code: 'unprocessable_entity' });
  });

  it('sends the waiting clicks before it closes', async () => {
    const producer = await queue.aProducer();
    const recording = Promise.all(
      Array.from({ length: 30 }, (_, visitor) => producer.recordClick(aVisit(`c-${visitor}`))),
    );
    await producer.close();
    expect((await recording).every(({ isNew }) => isNew)).toBe(true);
    expect(await queuedIds()).toHaveLength(30);
  });
});

describe('clicks that Redis does not accept in time', () => {
  it('are recorded once when the answer to their transaction is late', async () => {
    const producer = await queue.aProducer({ clickDeadlineMs: 100 });
    await producer.recordClick(aVisit('first'));
    const click = aVisit('late');
    queue.proxy.holdAnswers();
    expect(await producer.recordClick(click)).toEqual({ clickId: click.clickId, isNew: true });
    queue.proxy.pass();
    expect(await producer.recordClick(aVisit('late'))).toEqual({ clickId: click.clickId, isNew: false });
    await waitFor(async () => (await producer.oldestQueuedMs('click')) !== undefined, { what: 'the queue' });
    expect((await queuedIds()).filter((id) => id === click.clickId)).toHaveLength(1);
  });

  it('are all recorded, even those that their transaction discarded as counted before, when its answer is late', async () => {
    const counted = aVisit('counted elsewhere');
    await (await queue.aProducer()).recordClick(counted);
    const producer = await queue.aProducer({ clickDeadlineMs: 100 });
    queue.proxy.holdAnswers();
    const clicks = [aVisit('counted elsewhere'), aVisit('new here')];
    const results = await Promise.all(clicks.map((click) => producer.recordClick(click)));
    expect(results).toEqual(clicks.map(({ clickId }) => ({ clickId, isNew: true })));
    await waitFor(async () => (await queuedIds()).length > 1, { what: 'the transaction' });
    expect(await queuedIds()).toEqual([counted.clickId, clicks[1]?.clickId]);
    queue.proxy.pass();
    await waitFor(async () => (await queuedIds()).length === 3, { what: 'the spool to be replayed' });
    expect(new Set(await queuedIds())).toEqual(new Set([counted, ...clicks].map(({ clickId }) => clickId)));
    expect(await producer.recordClick(aVisit('new here'))).toMatchObject({ clickId: clicks[1]?.clickId });
  });

  it('are not discarded by their own transaction once another process has replayed them', async () => {
    const counted = aVisit('counted elsewhere');
    await (await queue.aProducer()).recordClick(counted);
    const slow = await queue.aProducer({ clickDeadlineMs: 100 });
    queue.proxy.holdRequests();
    const click = aVisit('counted elsewhere');
    expect(await slow.recordClick(click)).toEqual({ clickId: click.clickId, isNew: true });
    await orphanSpoolFiles(queue.spoolDirectory);
    const other = await queue.aProducer({ redisUrl: queue.redis.url });
    const both = new Set([counted.clickId, click.clickId]);
    await waitFor(async () => (await queuedIds()).length === 2, { what: 'the spool to be replayed' });
    const before = queue.proxy.requestBytes();
    queue.proxy.pass();
    await waitFor(() => queue.proxy.requestBytes() > before, { what: 'the transaction' });
    await waitFor(() => slow.ping().then(() => true), { what: 'an answer' });
    expect(new Set(await queuedIds())).toEqual(both);
    // The hour of the visitor is still that of the click that was recorded first.
    const visit = await other.recordClick(aVisit('counted elsewhere'));
    expect(visit).toEqual({ clickId: counted.clickId, isNew: false });
  });

  it('are spooled while Redis is down, and queued with their claims when it is back', async () => {
    const producer = await queue.aProducer({ clickDeadlineMs: 100 });
    await queue.redis.kill9();
    const clicks = Array.from({ length: 40 }, (_, visitor) => aVisit(`away-${visitor}`));
    const results = await Promise.all(clicks.map((click) => producer.recordClick(click)));
    expect(results.every(({ isNew }) => isNew)).toBe(true);
    expect(await producer.oldestQueuedMs('lead').catch(() => 'unknown')).toBe('unknown');
    await queue.redis.restart();
    await waitFor(async () => (await queuedIds()).length === 40, { what: 'the spool to be replayed' });
    expect(await producer.recordClick(aVisit('away-7'))).toEqual({ clickId: clicks[7]?.clickId, isNew: false });
  });

  it('are spooled when Redis hangs with its connection open', async () => {
    const producer = await queue.aProducer({ clickDeadlineMs: 500 });
    queue.proxy.holdRequests();
    const clicks = Array.from({ length: 10 }, (_, visitor) => aVisit(`hang-${visitor}`));
    const since = performance.now();
    for (const click of clicks) expect(await producer.recordClick(click)).toMatchObject({ isNew: true });
    expect(await producer.recordClick(aVisit('hang-3'))).toEqual({ clickId: clicks[3]?.clickId, isNew: false });
    // Only the first waits for the deadline.
    expect(performance.now() - since).toBeLessThan(4000);
    queue.proxy.pass();
    await waitFor(async () => (await queuedIds()).length === 10, { what: 'the spool to be replayed' });
  });

  it('are recorded when Redis loses its scripts', async () => {
    const producer = await queue.aProducer({ clickDeadlineMs: 100 });
    await producer.recordClick(aVisit('scripts-1'));
    await queue.admin.script('FLUSH');
    const click = aVisit('scripts-2');
    expect(await producer.recordClick(click)).toMatchObject({ isNew: true });
    await waitFor(async () => (await queuedIds()).includes(click.clickId), { what: 'the click' });
  });
});
