import { randomUUID } from 'node:crypto';
import { createEventId, formatResourceId } from '@waymark/contract';
import { aClick, insertClicks, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EventWriter, listDeadLetters, replayDeadLetters } from '../../src/index.js';
import { expireTokens } from '../../src/queue/expire-tokens.js';
import { createJobId } from '../../src/queue/job-id.js';
import { batchOfJobKey, claimKey, INSERT_COUNT_KEY, insertBatchKey, jobKey, queueKey } from '../../src/queue/keys.js';
import { createEventTable } from '../../src/writer/event-table.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

let fixture: WriterFixture;
let otherRedis: TestRedis;
let otherShard: Redis;
let workspace = 500;
const writers: EventWriter[] = [];

beforeAll(async () => {
  [fixture, otherRedis] = await Promise.all([startWriterFixture(), startRedis()]);
  otherShard = new Redis(otherRedis.url);
});
afterAll(async () => {
  otherShard.disconnect();
  await Promise.all([fixture.stop(), otherRedis.stop()]);
});
afterEach(async () => {
  await Promise.all(writers.splice(0).map((writer) => writer.close()));
});

function startWriter(): void {
  writers.push(fixture.aWriter());
}

function clicks(count: number, facts: Parameters<typeof aClick>[0] = {}) {
  const workspaceId = String(++workspace);
  const rows = Array.from({ length: count }, (_, index) => {
    const timestampMs = Date.now() - index;
    return aClick({ workspaceId, timestampMs, clickId: createEventId(timestampMs), ...facts });
  });
  return { workspaceId, rows };
}

async function counts(workspaceId: string) {
  const [row] = await fixture.select<Record<'base' | 'ids' | 'totals' | 'days', string>>(
    `SELECT count() AS base, uniqExact(click_id) AS ids,
      (SELECT sum(clicks) FROM link_totals WHERE workspace_id = {w:UInt64}) AS totals,
      (SELECT sum(clicks) FROM link_days WHERE workspace_id = {w:UInt64}) AS days
      FROM click_events WHERE workspace_id = {w:UInt64}`,
    { w: workspaceId },
  );
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]));
}

const all = (count: number) => ({ base: count, ids: count, totals: count, days: count });

describe('several writers', () => {
  it('write a job once, even if it is added several times and to different writers', async () => {
    for (let count = 0; count < 3; count++) startWriter();
    const { workspaceId, rows } = clicks(600);
    const jobs = Array.from({ length: 120 }, (_, job) => ({
      jobId: createJobId(),
      rows: rows.slice(job * 5, job * 5 + 5),
    }));
    for (let round = 0; round < 4; round++) {
      await Promise.all(jobs.map((job) => fixture.add('click', job.rows, { jobId: job.jobId })));
    }
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(600));
  });
});

describe('a writer', () => {
  it('writes a job once that is delivered again while its batch is still open', async () => {
    writers.push(fixture.aWriter({ limits: { batchDelayMs: 2000 } }));
    const { workspaceId, rows } = clicks(5);
    const jobId = await fixture.add('click', rows);
    const attemptsStarted = async () => Number(await fixture.admin.hget(jobKey('click', jobId), 'ats'));
    await waitFor(async () => (await attemptsStarted()) === 1, { what: 'the job to be taken' });
    // The same as BullMQ's check for stalled jobs does when a lock was not renewed in time.
    await fixture.admin
      .multi()
      .del(`${jobKey('click', jobId)}:lock`)
      .lrem(queueKey('click', 'active'), 0, jobId)
      .rpush(queueKey('click', 'wait'), jobId)
      .zadd(jobKey('click', 'marker'), 0, '0')
      .exec();
    await waitFor(async () => (await attemptsStarted()) === 2, { what: 'the job to be taken again' });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(5));
  });
});

describe('the clock of Redis', () => {
  const HOUR_MS = 3_600_000;

  it('may be set back: the jobs of a killed writer are taken over, although their locks seem to last an hour', async () => {
    const { workspaceId, rows } = clicks(5);
    const jobId = await fixture.add('click', rows);
    await fixture.admin
      .multi()
      .lrem(queueKey('click', 'wait'), 0, jobId)
      .lpush(queueKey('click', 'active'), jobId)
      .set(`${jobKey('click', jobId)}:lock`, 'of a killed writer', 'PX', HOUR_MS)
      .set(queueKey('click', 'stalled-check'), '1', 'PX', HOUR_MS)
      .exec();
    startWriter();
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(5));
  });

  it('may be corrected: a stored job that is delivered again is not stored twice, although its manifest entry has expired', async () => {
    startWriter();
    const { workspaceId, rows } = clicks(5);
    const jobId = await fixture.add('click', rows);
    await fixture.untilDrained();
    await Promise.all(writers.splice(0).map((writer) => writer.close()));
    await fixture.admin.del(batchOfJobKey(jobId));
    await fixture.add('click', rows, { jobId });
    await fixture.admin.hset(jobKey('click', jobId), 'ats', 1);
    startWriter();
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(5));
  });
});

/** The id of a job that was created at that time. */
function jobIdAt(timeMs: number): string {
  const hex = timeMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${createJobId().slice(13)}`;
}

describe('the clock of a producer', () => {
  const MINUTE_MS = 60_000;

  it('may be eight minutes ahead: a stored job that the spool delivers after a quarter of an hour is not stored twice', async () => {
    writers.push(fixture.aWriter({ now: () => Date.now() - 8 * MINUTE_MS }));
    const createdMs = Date.now() - 17 * MINUTE_MS;
    const workspaceId = String(++workspace);
    const rows = Array.from({ length: 5 }, () =>
      aClick({ workspaceId, timestampMs: createdMs, clickId: createEventId(createdMs) }),
    );
    const jobId = jobIdAt(createdMs);
    await fixture.add('click', rows, { jobId });
    await fixture.untilDrained();
    // Its manifest entry has expired, two minutes ago.
    await fixture.admin.del(batchOfJobKey(jobId));
    await fixture.add('click', rows, { jobId });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(5));
  });
});

describe('a stored job without a manifest entry', () => {
  const MINUTE_MS = 60_000;

  it.each([
    ['was created a quarter of an hour ago', -16 * MINUTE_MS, -16 * MINUTE_MS],
    ['is added again after the clock of its process was set back', 0, -6 * MINUTE_MS],
  ])('is not stored twice if it %s', async (_when, createdAfterMs, addedAfterMs) => {
    const createdMs = Date.now() + createdAfterMs;
    const workspaceId = String(++workspace);
    const clickId = createEventId(createdMs);
    const rows = [aClick({ workspaceId, timestampMs: createdMs, clickId })];
    const jobId = jobIdAt(createdMs);
    for (let time = 0; time < 2; time++) {
      await fixture.add('click', rows, { jobId });
      await fixture.admin.hset(jobKey('click', jobId), { timestamp: Date.now() + addedAfterMs });
      startWriter();
      await fixture.untilDrained();
      await Promise.all(writers.splice(0).map((writer) => writer.close()));
      await fixture.admin.del(batchOfJobKey(jobId));
    }
    expect(await counts(workspaceId)).toEqual(all(1));
  });
});

describe('dead letters', () => {
  const poisoned = () => {
    const { workspaceId, rows } = clicks(3);
    return {
      workspaceId,
      rows: rows.map((row, index) => (index === 1 ? [...row.slice(0, 3), 'x', ...row.slice(4)] : row)),
    };
  };

  it('are parked again under the same id when a replay is refused', async () => {
    startWriter();
    const { rows } = poisoned();
    const jobId = await fixture.add('click', rows);
    await fixture.untilDrained();
    expect(await replayDeadLetters(fixture.admin, [`${jobId}-1`])).toBe(1);
    await fixture.untilDrained();
    const { letters } = await listDeadLetters(fixture.admin);
    expect(letters.filter((letter) => letter.id === `${jobId}-1`)).toHaveLength(1);
  });

  it('that were fixed are written once, however often they are replayed', async () => {
    startWriter();
    const { workspaceId, rows } = poisoned();
    const jobId = await fixture.add('click', rows);
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(2));
    const id = `${jobId}-1`;
    const [letter] = (await listDeadLetters(fixture.admin)).letters.filter((parked) => parked.id === id);
    const fixed = JSON.stringify({ ...letter, row: letter?.row.replace('"x"', '"2"') });
    const mark = claimKey(`filters:${formatResourceId('workspace', workspaceId)}`);
    for (let time = 0; time < 3; time++) {
      await fixture.admin.set(mark, 'f:a mark');
      await fixture.admin.hset(`{waymark}:dead-letter:${id}`, { data: fixed, name: 'rows', opts: '{}', timestamp: 1 });
      await fixture.admin.lrem(queueKey('dead-letter', 'wait'), 0, id);
      await fixture.admin.lpush(queueKey('dead-letter', 'wait'), id);
      expect(await replayDeadLetters(fixture.admin, [id])).toBe(1);
      expect(await fixture.admin.get(mark)).toBe('f:blocked');
      await fixture.untilDrained();
      await fixture.admin.del(`{waymark}:group-of:${id}`);
    }
    expect(await counts(workspaceId)).toEqual(all(3));
    expect((await listDeadLetters(fixture.admin)).letters.map((parked) => parked.id)).not.toContain(id);
  });

  it('are written by a second replay when the first one was refused', async () => {
    const { client } = fixture.database;
    await client.command({
      query: `ALTER TABLE click_events ADD CONSTRAINT no_test CHECK throwIf(url = 'https://refused.example/') = 0`,
    });
    startWriter();
    const { workspaceId, rows } = clicks(3, { url: 'https://refused.example/' });
    await fixture.add('click', rows);
    await fixture.untilDrained();
    await replayDeadLetters(fixture.admin);
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(0));
    await client.command({ query: 'ALTER TABLE click_events DROP CONSTRAINT no_test' });
    expect(await replayDeadLetters(fixture.admin)).toBeGreaterThanOrEqual(3);
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(3));
  });

  it('are all replayed when no id is given', async () => {
    startWriter();
    await fixture.add('click', ['"bad"', '"worse"']);
    await fixture.untilDrained();
    const { total } = await listDeadLetters(fixture.admin);
    expect(total).toBeGreaterThanOrEqual(2);
    expect(await replayDeadLetters(fixture.admin)).toBe(total);
    await fixture.untilDrained();
  });
});

describe('when ClickHouse fails', () => {
  it('every row is in the table and the views once, even if a view failed after the rows were stored', async () => {
    const { client } = fixture.database;
    await client.command({
      query: `CREATE MATERIALIZED VIEW failing TO link_days AS
        SELECT workspace_id, link_id, toDate(timestamp) AS day, throwIf(url = 'https://fail.example/') AS clicks
        FROM click_events GROUP BY workspace_id, link_id, day, url`,
    });
    startWriter();
    const { workspaceId, rows } = clicks(20, { url: 'https://fail.example/' });
    await fixture.add('click', rows);
    await waitFor(() => fixture.admin.get('{waymark}:inserts'), { what: 'the insert to be tried' });
    await client.command({ query: 'DROP VIEW failing' });
    await fixture.untilDrained();
    // Rows that were parked because of the failing view are written now.
    await replayDeadLetters(fixture.admin);
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(20));
  });

  it.each([
    [
      'after many inserts of its own queue shard',
      (batchId: string) => fixture.admin.hset(insertBatchKey(batchId), { inserts: -1_000_000 }),
    ],
    ['after the stores were restored', () => expireTokens(fixture.admin)],
    ['after many inserts of another queue shard', () => otherShard.incrby(INSERT_COUNT_KEY, 5_000)],
    ['if its own queue shard has lost its count', () => fixture.admin.del(INSERT_COUNT_KEY)],
    ['if another queue shard has lost its count', () => otherShard.del(INSERT_COUNT_KEY)],
  ])(
    'a retry has only its absent rows inserted once the deduplication token may have expired, %s',
    async (_when, expire) => {
      const { client } = fixture.database;
      await otherShard.set(INSERT_COUNT_KEY, 100);
      await client.command({
        query: `CREATE MATERIALIZED VIEW failing TO link_days AS
        SELECT workspace_id, link_id, toDate(timestamp) AS day, throwIf(url = 'https://late.example/') AS clicks
        FROM click_events GROUP BY workspace_id, link_id, day, url`,
      });
      writers.push(fixture.aWriter({ otherShards: [otherShard] }));
      // The writer has the answer to its first reading once this later command is answered.
      await otherShard.ping();
      const { workspaceId, rows } = clicks(4, { url: 'https://late.example/' });
      const jobId = await fixture.add('click', rows);
      const storedCount = async () => (await counts(workspaceId)).base;
      await waitFor(async () => (await storedCount()) === 4, { what: 'the first attempt to store the rows' });
      // The token is still in ClickHouse, which would drop a repeat of the whole insert: the deleted row would stay absent.
      await client.command({
        query: 'DELETE FROM click_events WHERE workspace_id = {w:UInt64} AND click_id = {id:String}',
        query_params: { w: workspaceId, id: String(rows[0]?.[2]) },
      });
      const batchId = (await fixture.admin.get(batchOfJobKey(jobId))) ?? '';
      await expire(batchId);
      await waitFor(async () => (await storedCount()) === 4, { what: 'the absent row to be inserted' });
      await client.command({ query: 'DROP VIEW failing' });
      await fixture.untilDrained();
      expect(await counts(workspaceId)).toMatchObject({ base: 4, ids: 4 });
    },
  );

  it('a writer that was suspended before its insert stores no row again that another writer has stored meanwhile', async () => {
    let clockMs = Date.now();
    let resume = () => {};
    const suspension = new Promise<void>((resolve) => {
      resume = resolve;
    });
    writers.push(fixture.aWriter({ now: () => clockMs, onInserting: () => suspension }));
    const { workspaceId, rows } = clicks(4);
    const jobId = await fixture.add('click', rows);
    const batchId = await waitFor(() => fixture.admin.get(batchOfJobKey(jobId)), { what: 'the batch to be begun' });
    // The other writer has inserted the batch, and after it so many others that ClickHouse has dropped the token.
    await insertClicks(fixture.database.client, rows);
    await fixture.admin.hset(insertBatchKey(batchId), { inserts: -1_000_000 });
    clockMs += 10 * 60_000;
    resume();
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(4));
  });

  it('a bisected batch is stored once if its writer is killed, and ClickHouse accepts afterwards what it has refused', async () => {
    const { workspaceId, rows } = clicks(8);
    const batchId = randomUUID();
    // The killed writer had stored the first quarter: both the whole batch and its first half were refused.
    const { client } = fixture.database;
    const table = createEventTable({ client, kind: 'click', now: Date.now });
    const quarter = rows.slice(0, 2).map((row) => JSON.stringify(row));
    await table.insert(1, quarter, `${batchId}-0-2`);
    const jobId = createJobId();
    await fixture.admin.set(batchOfJobKey(jobId), batchId);
    await fixture.admin.hset(insertBatchKey(batchId), {
      ...{ state: 'split', kind: 'click', v: 1, at: Date.now(), jobs: JSON.stringify([jobId]), skip: '{}' },
      ...{ inserts: (await fixture.admin.get(INSERT_COUNT_KEY)) ?? 0, elsewhere: '[]' },
    });
    await fixture.add('click', rows, { jobId });
    startWriter();
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(all(8));
  });

  it('jobs stay in the queue while a table is missing, and are written when it is back', async () => {
    const { client } = fixture.database;
    await client.command({ query: 'RENAME TABLE lead_events TO lead_events_away' });
    startWriter();
    await fixture.add('lead', [['1', Date.now(), createEventId(Date.now()), 'too short']]);
    await waitFor(async () => (await fixture.admin.llen(queueKey('lead', 'active'))) === 1, {
      what: 'the job to be taken',
    });
    const before = (await listDeadLetters(fixture.admin)).total;
    await Promise.all(writers.splice(0).map((writer) => writer.close()));
    // The stopped writer has returned its job to the queue.
    expect(await fixture.admin.llen(queueKey('lead', 'wait'))).toBe(1);
    expect((await listDeadLetters(fixture.admin)).total).toBe(before);
    await client.command({ query: 'RENAME TABLE lead_events_away TO lead_events' });
    startWriter();
    await fixture.untilDrained();
    expect((await listDeadLetters(fixture.admin)).total).toBe(before + 1);
  });
});
