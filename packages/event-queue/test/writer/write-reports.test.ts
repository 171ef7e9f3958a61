import { setTimeout as delay } from 'node:timers/promises';
import { createEventId } from '@waymark/contract';
import { aClick, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventWriter, WriteReport } from '../../src/index.js';
import { silentLogger } from '../silent-logger.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

/** What a writer reports to operators: the batches it stored, and whether it is stuck. */

let fixture: WriterFixture;
let writer: EventWriter;
const reports: WriteReport[] = [];
const warnings: string[] = [];
let aheadMs = 0;
const STUCK_AFTER_MS = 60_000;

beforeAll(async () => {
  fixture = await startWriterFixture();
  writer = fixture.aWriter({
    onStored(report) {
      reports.push(report);
      throw new Error('an error of this callback must not affect the write');
    },
    logger: { ...silentLogger, warn: (_context, message) => warnings.push(message) },
    stuckAfterMs: STUCK_AFTER_MS,
    now: () => Date.now() + aheadMs,
  });
});
afterAll(() => fixture.stop());

function clicks(workspaceId: string, count: number, ageMs = 0) {
  return Array.from({ length: count }, () => {
    const timestampMs = Date.now() - ageMs;
    return aClick({ workspaceId, timestampMs, clickId: createEventId(timestampMs) });
  });
}

/** The report on the only batch that was stored since the last call. */
async function onlyReport(): Promise<WriteReport> {
  await fixture.untilDrained();
  const [report] = await waitFor(() => reports.length > 0 && reports.splice(0), { what: 'a write report' });
  return report as WriteReport;
}

describe('a write report', () => {
  it('has the rows of the batch, and the events and lag of each workspace', async () => {
    await fixture.add('click', [...clicks('11', 3), ...clicks('12', 1, 30_000)]);
    const report = await onlyReport();
    expect(report).toMatchObject({ kind: 'click', outcome: 'stored', rows: 4, attempts: 1 });
    expect(report.bytes).toBeGreaterThan(400);
    expect(report.gatherMs).toBeGreaterThanOrEqual(0);
    expect([...report.workspaces.keys()]).toEqual(['11', '12']);
    expect(report.workspaces.get('11')?.events).toBe(3);
    expect(report.workspaces.get('11')?.lagMsMax).toBeLessThan(30_000);
    expect(report.workspaces.get('12')?.lagMsMin).toBeGreaterThanOrEqual(30_000);
  });

  it('shows that a batch was stored in parts and rows were parked', async () => {
    const [bad, ...good] = clicks('13', 4);
    const broken = (bad ?? []).with(3, 'no link');
    await fixture.add('click', [...good, broken]);
    const report = await onlyReport();
    expect(report).toMatchObject({ outcome: 'parked', rows: 4 });
    expect(report.attempts).toBeGreaterThan(2);
  });

  it('is made for customers too, without workspaces', async () => {
    await fixture.add('customer', [['14', '77', 5, 0, 'ext', '', 'FR', '2', Date.now(), '{}']]);
    expect(await onlyReport()).toMatchObject({ kind: 'customer', outcome: 'stored', rows: 1, workspaces: new Map() });
  });
});

describe('a writer', () => {
  it('is stuck when jobs wait but none is stored for a minute, even if ClickHouse answers; it then reports the attempts', async () => {
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events TO click_events_away' });
    await fixture.add('click', clicks('15', 1));
    await waitFor(() => warnings.some((text) => text.includes('retrying')), { what: 'an insert to fail' });
    await fixture.database.client.command({ query: 'SELECT 1' });
    await writer.checkProgress();
    aheadMs = STUCK_AFTER_MS + 5000;
    await expect(writer.checkProgress()).rejects.toThrow(/stuck: click jobs wait, but none was stored for 6\d s/);

    await fixture.database.client.command({ query: 'RENAME TABLE click_events_away TO click_events' });
    const report = await onlyReport();
    expect(report).toMatchObject({ outcome: 'retried', rows: 1 });
    expect(report.attempts).toBeGreaterThan(1);
    await writer.checkProgress();
  });

  it('is not stuck after an hour without jobs, nor when the first job arrives then', async () => {
    aheadMs = 3_600_000;
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events TO click_events_away' });
    await fixture.add('click', clicks('16', 1));
    await waitFor(async () => (await fixture.admin.llen('{waymark}:click:active')) === 1, { what: 'the job' });
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events_away TO click_events' });
    await onlyReport();
  });

  it('keeps no commands of its checks for a Redis that is away', async () => {
    aheadMs = 7_200_000;
    await fixture.redis.kill9();
    const checked = () =>
      writer.check().then(
        () => false,
        (err: Error) => err.message === 'redis is not connected',
      );
    // A check that begins before the end of the connection is noticed waits for the next connection.
    const isDisconnected = () => Promise.race([checked(), delay(100, false)]);
    await waitFor(isDisconnected, { what: 'the end of the connection' });
    await expect(writer.checkProgress()).rejects.toThrow('redis is not connected');
    await fixture.redis.restart();
    await waitFor(() => writer.check().then(() => true), { what: 'the connection' });
    expect(await fixture.admin.info('commandstats')).not.toContain('cmdstat_lindex');
  });
});
