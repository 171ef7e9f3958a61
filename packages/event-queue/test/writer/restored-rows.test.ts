import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEventId } from '@waymark/contract';
import { aClick, startTcpProxy, type TcpProxy, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clickClaim, createEventProducer, type EventProducer } from '../../src/index.js';
import { createJobId, restoredRowsJobId } from '../../src/queue/job-id.js';
import { batchOfJobKey, jobKey, queueKey } from '../../src/queue/keys.js';
import { silentLogger } from '../silent-logger.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

/** Clicks that were discarded as already counted, although their callers had the answer that they are recorded. */

/** Longer than the manifest has the entry of a job, and shorter than Redis has the list of its discarded rows. */
const LATER_MS = 20 * 60_000;
const LONG_DEADLINE_MS = 10_000;
let fixture: WriterFixture;
let proxy: TcpProxy;
let spoolDirectory: string;
let workspace = 700;
const producers: EventProducer[] = [];

beforeAll(async () => {
  fixture = await startWriterFixture();
  proxy = await startTcpProxy(fixture.redis.port);
  spoolDirectory = await mkdtemp(join(tmpdir(), 'waymark-spool-'));
});
afterEach(async () => {
  proxy.pass();
  await Promise.all(producers.splice(0).map((producer) => producer.close()));
  await fixture.admin.flushall();
});
afterAll(async () => {
  await Promise.all([fixture.stop(), proxy.stop(), rm(spoolDirectory, { recursive: true, force: true })]);
});

async function aProducer(redisUrl: string, clickDeadlineMs: number): Promise<EventProducer> {
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger: silentLogger, clickDeadlineMs });
  producers.push(producer);
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
  return producer;
}

function aVisit(workspaceId: string, visitor: string) {
  const timestampMs = Date.now();
  const clickId = createEventId(timestampMs);
  return {
    claim: clickClaim(`link_${workspaceId}`, visitor),
    clickId,
    rowText: JSON.stringify(aClick({ workspaceId, clickId, timestampMs })),
  };
}

const waiting = async () => (await fixture.admin.lrange(queueKey('click', 'wait'), 0, -1)).reverse();

/** Has a new writer write the queue. */
async function drain(now: () => number): Promise<void> {
  const writer = fixture.aWriter({ now });
  await fixture.untilDrained();
  await writer.close();
}

async function storedIds(workspaceId: string): Promise<string[]> {
  const rows = await fixture.select<{ click_id: string }>(
    'SELECT click_id FROM click_events WHERE workspace_id = {w:UInt64}',
    { w: workspaceId },
  );
  return rows.map(({ click_id: id }) => id).sort();
}

describe('a click that its transaction discarded, and the spool restores', () => {
  it.each([
    ['while its job is queued', false, async () => undefined],
    ['when the manifest has no entry of its job any more', true, async () => undefined],
    [
      'when the manifest has no entry of its job any more, by a Redis that has lost its scripts',
      true,
      async () => void (await fixture.admin.script('FLUSH')),
    ],
  ])('is stored once, %s', async (_when, isWrittenBefore, disturb) => {
    const workspaceId = String(++workspace);
    const counted = aVisit(workspaceId, 'counted elsewhere');
    await (await aProducer(fixture.redis.url, LONG_DEADLINE_MS)).recordClick(counted);
    const [countedJob = ''] = await waiting();
    const producer = await aProducer(`redis://127.0.0.1:${proxy.port}`, 100);
    proxy.holdAnswers();
    const clicks = [aVisit(workspaceId, 'counted elsewhere'), aVisit(workspaceId, 'new here')];
    const answers = await Promise.all(clicks.map((click) => producer.recordClick(click)));
    expect(answers).toEqual(clicks.map(({ clickId }) => ({ clickId, isNew: true })));
    const jobId = await waitFor(async () => (await waiting()).find((id) => id !== countedJob), {
      what: 'the job of the transaction',
    });
    const struckKey = `${jobKey('click', jobId)}:struck`;
    if (isWrittenBefore) {
      await drain(Date.now);
      await fixture.admin.del(batchOfJobKey(jobId));
    }
    await fixture.admin.pexpire(struckKey, 60_000);
    await disturb();
    proxy.pass();
    const restoredId = restoredRowsJobId(jobId);
    await waitFor(async () => (await waiting()).includes(restoredId), { what: 'the spool to be replayed' });
    expect(await waiting()).toEqual([...(isWrittenBefore ? [] : [countedJob]), jobId, restoredId]);
    expect(await fixture.admin.hget(jobKey('click', jobId), 'progress')).toBe('{"struck":[0]}');
    expect(await fixture.admin.pttl(struckKey)).toBeGreaterThan(60_000);
    await drain(() => Date.now() + LATER_MS);
    expect(await storedIds(workspaceId)).toEqual([counted, ...clicks].map(({ clickId }) => clickId).sort());
  });

  it('is stored once when the process that restored it is of an earlier release, which leaves it in its job as well', async () => {
    const workspaceId = String(++workspace);
    const [first, second] = [aVisit(workspaceId, 'a'), aVisit(workspaceId, 'b')];
    const jobId = createJobId();
    await fixture.add('click', [first.rowText, second.rowText], { jobId });
    await fixture.add('click', [second.rowText], { jobId: restoredRowsJobId(jobId) });
    await drain(() => Date.now() + LATER_MS);
    expect(await storedIds(workspaceId)).toEqual([first, second].map(({ clickId }) => clickId).sort());
  });

  it('is stored when its job, which comes first, has discarded it', async () => {
    const workspaceId = String(++workspace);
    const [first, second] = [aVisit(workspaceId, 'a'), aVisit(workspaceId, 'b')];
    const jobId = createJobId();
    await fixture.add('click', [first.rowText, second.rowText], { jobId, discarded: [1] });
    await fixture.add('click', [second.rowText], { jobId: restoredRowsJobId(jobId) });
    await drain(() => Date.now() + LATER_MS);
    expect(await storedIds(workspaceId)).toEqual([first, second].map(({ clickId }) => clickId).sort());
  });
});
