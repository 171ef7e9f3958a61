import { aClick, aLead, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createWebhookJobSender,
  type EventWriter,
  type EventWriterOptions,
  type InsertedBatch,
  replayDeadLetters,
  type WebhookJob,
} from '../../src/index.js';
import { createDeadLetters } from '../../src/queue/dead-letters.js';
import { silentRow } from '../../src/queue/job-rows.js';
import { jobKey, queueKey } from '../../src/queue/keys.js';
import { alone } from '../alone.js';
import { startWriterFixture, type WriterFixture } from '../writer/writer-fixture.js';

let fixture: WriterFixture;
const writers: EventWriter[] = [];

beforeAll(async () => {
  fixture = await startWriterFixture();
});
beforeEach(async () => {
  await fixture.admin.flushall();
  await fixture.database.client.command({ query: 'TRUNCATE TABLE click_events' });
});
afterEach(async () => {
  await Promise.all(writers.splice(0).map((writer) => writer.close()));
});
afterAll(() => fixture.stop());

function startWriter(options: Partial<EventWriterOptions>): EventWriter {
  const writer = fixture.aWriter(options);
  writers.push(writer);
  return writer;
}

const rowIds = (rows: readonly string[]) => rows.map((row) => String(JSON.parse(row)[2]));
/** Creates a job for each row of a batch. */
const jobPerRow = async ({ rows }: InsertedBatch): Promise<WebhookJob[]> =>
  rowIds(rows).map((id) => ({ id: `wh-${id}`, data: JSON.stringify({ id }) }));

const now = () => Date.now();
const clicks = (count: number) => Array.from({ length: count }, () => aClick({ timestampMs: now() }));
const webhookJobs = async () => (await fixture.admin.lrange(queueKey('webhook', 'wait'), 0, -1)).sort();
const storedIds = async () =>
  (await fixture.select<{ id: string }>('SELECT toString(click_id) AS id FROM click_events ORDER BY id')).map(
    ({ id }) => id,
  );

describe('webhook jobs of an insert', () => {
  it('are added when the insert is acknowledged, for every row of it', async () => {
    const rows = clicks(3);
    startWriter({ webhookJobsOf: jobPerRow });
    await fixture.add('click', rows);
    await fixture.untilDrained();
    expect(await webhookJobs()).toEqual(rows.map((row) => `wh-${row[2]}`).sort());
    expect(await storedIds()).toEqual(rows.map((row) => String(row[2])).sort());
    expect(JSON.parse((await fixture.admin.hget(jobKey('webhook', `wh-${rows[0]?.[2]}`), 'data')) ?? '')).toEqual({
      id: rows[0]?.[2],
    });
  });

  it('are added by the next writer when the first one stops between the insert and its acknowledgement', async () => {
    const rows = clicks(2);
    let insertedBatch = '';
    const first = startWriter({
      closeMs: 100,
      webhookJobsOf: ({ batchId }) => {
        insertedBatch = batchId;
        return Promise.reject(new Error('no webhooks yet'));
      },
    });
    const jobId = await fixture.add('click', rows);
    await waitFor(() => insertedBatch !== '', { what: 'the insert' });
    expect(await storedIds()).toHaveLength(2);
    await first.close();
    expect(await fixture.admin.hget(jobKey('click', jobId), 'failedReason')).toContain('stopped while');
    expect(await fixture.admin.hget(jobKey('click', jobId), 'stacktrace')).toBe('[]');
    expect(await webhookJobs()).toEqual([]);

    let repeatedBatch = '';
    startWriter({
      webhookJobsOf: (batch) => {
        repeatedBatch = batch.batchId;
        return jobPerRow(batch);
      },
    });
    await waitFor(async () => (await webhookJobs()).length === 2, { what: 'the jobs' });
    await fixture.untilDrained();
    expect(repeatedBatch).toBe(insertedBatch);
    expect(await storedIds()).toHaveLength(2);
  });

  it('are not added for silent rows, in an insert, its repeat and a replay; those rows are stored like others', async () => {
    const rows = Array.from({ length: 3 }, () => JSON.stringify(aLead({ timestampMs: now() })));
    const [notSilent = '', ...others] = rows;
    const [stopped = '', replayed = ''] = others.map(silentRow);
    const [notSilentId] = rowIds([notSilent]);
    let isInserted = false;
    const first = startWriter({
      closeMs: 100,
      webhookJobsOf: () => {
        isInserted = true;
        return Promise.reject(new Error('no webhooks yet'));
      },
    });
    await fixture.add('lead', [stopped, notSilent]);
    await waitFor(() => isInserted, { what: 'the insert' });
    await first.close();

    const batches: string[][] = [];
    startWriter({
      webhookJobsOf: (batch) => {
        batches.push(rowIds(batch.rows));
        return jobPerRow(batch);
      },
    });
    await createDeadLetters(fixture.admin, alone(fixture.admin)).park([
      { kind: 'lead', version: 1, row: replayed, error: 'fixed since then', at: now(), jobId: 'letter', index: 0 },
    ]);
    expect(await replayDeadLetters(fixture.admin)).toBe(1);
    await waitFor(async () => (await webhookJobs()).length === 1, { what: 'the job' });
    await fixture.untilDrained();
    expect(batches).toEqual([[notSilentId]]);
    expect(await webhookJobs()).toEqual([`wh-${notSilentId}`]);
    const stored = await fixture.select<{ id: string }>(
      'SELECT toString(event_id) AS id FROM lead_events WHERE event_id IN {ids:Array(String)} ORDER BY id',
      { ids: rowIds(rows) },
    );
    expect(stored.map(({ id }) => id)).toEqual(rowIds(rows).sort());
  });

  it('are added before the insert is acknowledged, also when Redis has lost its scripts', async () => {
    const rows = clicks(1);
    startWriter({
      async webhookJobsOf(batch) {
        await fixture.admin.script('FLUSH');
        return jobPerRow(batch);
      },
    });
    await fixture.add('click', rows);
    await waitFor(async () => (await webhookJobs()).length === 1, { what: 'the job' });
    await fixture.untilDrained();
    expect(await storedIds()).toHaveLength(1);
  });

  it('are not created when no row of a batch was inserted', async () => {
    let isCalled = false;
    startWriter({
      async webhookJobsOf() {
        isCalled = true;
        return [];
      },
    });
    await fixture.add('click', ['["1",5,"forged"]']);
    await fixture.untilDrained();
    expect(isCalled).toBe(false);
  });
});

describe('webhook jobs without an insert', () => {
  it('are added once however often they are sent, and wait for their delay', async () => {
    const sender = createWebhookJobSender(fixture.admin, alone(fixture.admin));
    const job = { id: 'wh-1', data: '{}' };
    await sender.send([job, { id: 'wh-2', data: '{}', delayMs: 60_000 }]);
    await fixture.admin.script('FLUSH');
    await expect(sender.send([job])).rejects.toThrow('NOSCRIPT');
    await sender.send([job]);
    expect(await webhookJobs()).toEqual(['wh-1']);
    expect(await fixture.admin.zrange(queueKey('webhook', 'delayed'), '0', '-1')).toEqual(['wh-2']);
  });
});
