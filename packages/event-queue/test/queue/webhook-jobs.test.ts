import { aClick, aLead, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createWebhookJobSender,
  type EventWriter,
  type EventWriterOptions,
  replayDeadLetters,
  type WebhookJob,
  type WrittenGroup,
} from '../../src/index.js';
import { createDeadLetters } from '../../src/queue/dead-letters.js';
import { untoldRow } from '../../src/queue/job-rows.js';
import { jobKey, queueKey } from '../../src/queue/keys.js';
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
/** A job for each row of a group. */
const jobPerRow = async ({ rows }: WrittenGroup): Promise<WebhookJob[]> =>
  rowIds(rows).map((id) => ({ id: `wh-${id}`, data: JSON.stringify({ id }) }));

const now = () => Date.now();
const clicks = (count: number) => Array.from({ length: count }, () => aClick({ timestampMs: now() }));
const webhookJobs = async () => (await fixture.admin.lrange(queueKey('webhook', 'wait'), 0, -1)).sort();
const storedIds = async () =>
  (await fixture.select<{ id: string }>('SELECT toString(click_id) AS id FROM click_events ORDER BY id')).map(
    ({ id }) => id,
  );

describe('jobs that follow an insert', () => {
  it('are there when the insert is acknowledged, for every row of it', async () => {
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

  it('are made by the next writer when the first one stops between the insert and them', async () => {
    const rows = clicks(2);
    let insertedGroup = '';
    const first = startWriter({
      closeMs: 100,
      webhookJobsOf: ({ groupId }) => {
        insertedGroup = groupId;
        return Promise.reject(new Error('nobody may know yet'));
      },
    });
    await fixture.add('click', rows);
    await waitFor(() => insertedGroup !== '', { what: 'the insert' });
    expect(await storedIds()).toHaveLength(2);
    await first.close();
    expect(await webhookJobs()).toEqual([]);

    let repeatedGroup = '';
    startWriter({
      webhookJobsOf: (group) => {
        repeatedGroup = group.groupId;
        return jobPerRow(group);
      },
    });
    await waitFor(async () => (await webhookJobs()).length === 2, { what: 'the jobs', timeoutMs: 20_000 });
    await fixture.untilDrained();
    expect(repeatedGroup).toBe(insertedGroup);
    expect(await storedIds()).toHaveLength(2);
  });

  it('pass over rows that are not told, in an insert, its repeat and a replay; those are stored all the same', async () => {
    const rows = Array.from({ length: 3 }, () => JSON.stringify(aLead({ timestampMs: now() })));
    const [told = '', ...others] = rows;
    const [stopped = '', replayed = ''] = others.map(untoldRow);
    const [toldId] = rowIds([told]);
    let isInserted = false;
    const first = startWriter({
      closeMs: 100,
      webhookJobsOf: () => {
        isInserted = true;
        return Promise.reject(new Error('nobody may know yet'));
      },
    });
    await fixture.add('lead', [stopped, told]);
    await waitFor(() => isInserted, { what: 'the insert' });
    await first.close();

    const groups: string[][] = [];
    startWriter({
      webhookJobsOf: (group) => {
        groups.push(rowIds(group.rows));
        return jobPerRow(group);
      },
    });
    await createDeadLetters(fixture.admin).park([
      { kind: 'lead', version: 1, row: replayed, error: 'mended by now', at: now(), jobId: 'letter', index: 0 },
    ]);
    expect(await replayDeadLetters(fixture.admin)).toBe(1);
    await waitFor(async () => (await webhookJobs()).length === 1, { what: 'the job', timeoutMs: 20_000 });
    await fixture.untilDrained();
    expect(groups).toEqual([[toldId]]);
    expect(await webhookJobs()).toEqual([`wh-${toldId}`]);
    const stored = await fixture.select<{ id: string }>(
      'SELECT toString(event_id) AS id FROM lead_events WHERE event_id IN {ids:Array(String)} ORDER BY id',
      { ids: rowIds(rows) },
    );
    expect(stored.map(({ id }) => id)).toEqual(rowIds(rows).sort());
  });

  it('keep the insert unacknowledged until they are added, also when Redis has forgotten its scripts', async () => {
    const rows = clicks(1);
    startWriter({
      async webhookJobsOf(group) {
        await fixture.admin.script('FLUSH');
        return jobPerRow(group);
      },
    });
    await fixture.add('click', rows);
    await waitFor(async () => (await webhookJobs()).length === 1, { what: 'the job' });
    await fixture.untilDrained();
    expect(await storedIds()).toHaveLength(1);
  });

  it('are not asked for when nothing of a group was inserted', async () => {
    let isAsked = false;
    startWriter({
      async webhookJobsOf() {
        isAsked = true;
        return [];
      },
    });
    await fixture.add('click', ['["1",5,"forged"]']);
    await fixture.untilDrained();
    expect(isAsked).toBe(false);
  });
});

describe('webhook jobs that follow no insert', () => {
  it('are added once however often they are sent, and not before their delay', async () => {
    const sender = createWebhookJobSender(fixture.admin);
    const job = { id: 'wh-1', data: '{}' };
    await sender.send([job, { id: 'wh-2', data: '{}', delayMs: 60_000 }]);
    await fixture.admin.script('FLUSH');
    await expect(sender.send([job])).rejects.toThrow('NOSCRIPT');
    await sender.send([job]);
    expect(await webhookJobs()).toEqual(['wh-1']);
    expect(await fixture.admin.zrange(queueKey('webhook', 'delayed'), '0', '-1')).toEqual(['wh-2']);
  });
});
