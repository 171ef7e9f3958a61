import { createEventId } from '@waymark/contract';
import { aClick, aLead, aSale, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPendingCustomer, listDeadLetters, pendingCustomer, readPendingCustomers } from '../../src/index.js';
import { createJobId } from '../../src/queue/job-id.js';
import { batchOfJobKey, insertBatchKey, jobKey, queueKey, rowsKey } from '../../src/queue/keys.js';
import { MANIFEST_MS } from '../../src/writer/manifest.js';
import { soleManifest } from '../alone.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

const MINUTE_MS = 60_000;
let fixture: WriterFixture;
let workspace = 100;

beforeAll(async () => {
  fixture = await startWriterFixture();
  fixture.aWriter();
});
afterAll(() => fixture.stop());

/** Clicks of a new workspace. */
function clicks(count: number, facts: Parameters<typeof aClick>[0] = {}) {
  workspace += 1;
  const workspaceId = String(workspace);
  const rows = Array.from({ length: count }, (_, index) => {
    const timestampMs = facts.timestampMs ?? Date.now() - index;
    return aClick({ workspaceId, ...facts, timestampMs, clickId: createEventId(timestampMs) });
  });
  return { workspaceId, rows, ids: rows.map((row) => String(row[2])).sort() };
}

interface Counts {
  readonly ids: string[];
  readonly totals: number;
  readonly slots: number;
  readonly days: number;
}

/** A workspace's clicks in the base table and in each view. */
async function counts(workspaceId: string): Promise<Counts> {
  const [row] = await fixture.select<{ ids: string[]; totals: string; slots: string; days: string }>(
    `SELECT (SELECT arraySort(groupArray(toString(click_id))) FROM click_events WHERE workspace_id = {w:UInt64}) AS ids,
      (SELECT sum(clicks) FROM link_totals WHERE workspace_id = {w:UInt64}) AS totals,
      (SELECT sum(clicks) FROM workspace_slots WHERE workspace_id = {w:UInt64}) AS slots,
      (SELECT sum(clicks) FROM link_days WHERE workspace_id = {w:UInt64}) AS days`,
    { w: workspaceId },
  );
  return {
    ids: row?.ids ?? [],
    totals: Number(row?.totals),
    slots: Number(row?.slots),
    days: Number(row?.days),
  };
}

const exactly = (ids: readonly string[]): Counts => ({
  ids: [...ids],
  totals: ids.length,
  slots: ids.length,
  days: ids.length,
});

const lettersOf = async (jobId: string) =>
  (await listDeadLetters(fixture.admin)).letters.filter((letter) => letter.jobId === jobId);

describe('the writer', () => {
  it('writes many small jobs in few inserts, and removes them from Redis', async () => {
    const { workspaceId, rows, ids } = clicks(200);
    const before = Number((await fixture.admin.get('{waymark}:inserts')) ?? 0);
    const jobIds = await Promise.all(rows.map((row) => fixture.add('click', [row])));
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
    expect(Number(await fixture.admin.get('{waymark}:inserts')) - before).toBeLessThan(40);
    const keys = jobIds.flatMap((id) => [jobKey('click', id), rowsKey('click', id)]);
    expect(await fixture.admin.exists(...keys)).toBe(0);
  });

  it('reports a batch before and after its insert, and acknowledges it only when the second report is accepted', async () => {
    const { workspaceId, rows, ids } = clicks(1);
    const own = await startWriterFixture();
    let evict = () => {};
    const evicted = new Promise<void>((resolve) => {
      evict = resolve;
    });
    const inserted: (readonly string[])[] = [];
    const calls: unknown[] = [];
    const countRows = () => own.select<{ n: string }>('SELECT count() AS n FROM click_events', {});
    own.aWriter({
      async onInserting({ batchId }) {
        calls.push(['before', batchId, await countRows()]);
      },
      async onInserted({ batchId, rows }) {
        calls.push(['after', batchId, await countRows()]);
        inserted.push(rows);
        await evicted;
      },
    });
    const jobId = await own.add('click', rows);
    await waitFor(() => inserted.length === 1, { what: 'the insert' });
    const [[, batchId]] = calls as [[string, string]];
    expect(calls).toEqual([
      ['before', batchId, [{ n: '0' }]],
      ['after', batchId, [{ n: '1' }]],
    ]);
    const stored = await own.select<{ id: string }>(
      'SELECT click_id AS id FROM click_events WHERE workspace_id = {w:UInt64}',
      { w: workspaceId },
    );
    expect(stored.map(({ id }) => id)).toEqual(ids);
    expect(await own.admin.exists(rowsKey('click', jobId))).toBe(1);
    evict();
    await own.untilDrained();
    expect(await own.admin.exists(rowsKey('click', jobId))).toBe(0);
    await own.stop();
  });

  it('writes leads and sales with their counters', async () => {
    workspace += 1;
    const now = Date.now();
    const click = aClick({ workspaceId: String(workspace), timestampMs: now, clickId: createEventId(now) });
    const event = (ms: number) => ({ click, timestampMs: ms, eventId: createEventId(ms) });
    await fixture.add('lead', [aLead(event(now)), aLead(event(now))]);
    await fixture.add('sale', [aSale(event(now)), aSale({ ...event(now), saleType: 'recurring', amount: 100 })]);
    await fixture.untilDrained();
    const [totals] = await fixture.select(
      `SELECT sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS amount, min(first_sale_at) AS first
        FROM customer_totals WHERE workspace_id = {w:UInt64}`,
      { w: String(workspace) },
    );
    expect(totals).toMatchObject({ leads: '2', sales: '2', amount: '3000', first: new Date(now).toISOString() });
  });

  it('writes customers and the names by which they are found, idempotently', async () => {
    workspace += 1;
    const w = String(workspace);
    const row = [w, '77', 5, 0, 'ext "1"', '', 'FR', '2', Date.now(), '{}'];
    await fixture.add('customer', [row]);
    await fixture.add('customer', [row, 'not a row']);
    await fixture.untilDrained();
    const where = 'WHERE workspace_id = {w:UInt64}';
    expect(await fixture.select(`SELECT external_id FROM customers FINAL ${where}`, { w })).toEqual([
      { external_id: 'ext "1"' },
    ]);
    expect(await fixture.select(`SELECT kind, scope, name, id FROM names FINAL ${where}`, { w })).toEqual([
      { kind: 'customer', scope: w, name: 'ext "1"', id: '77' },
    ]);
    expect((await listDeadLetters(fixture.admin)).letters).toContainEqual(
      expect.objectContaining({ kind: 'customer', row: 'not a row' }),
    );
  });

  it('removes pending customers once their rows are written or parked, but no external id that another customer has by now', async () => {
    workspace += 1;
    const w = String(workspace);
    const row = (id: string, externalId: string, link = '2') => [
      ...[w, id, 1, 0, externalId, '', 'FR', link, Date.now(), `{"id":"${id}"}`],
    ];
    const written = [row('81', 'written'), row('82', 'refused', 'not a number'), row('83', 'again')];
    for (const one of [...written, row('84', 'again')]) {
      for (const { key, field = '', value } of pendingCustomer(one)) await fixture.admin.hset(key, field, value);
    }
    const numbers = ['81', '82', '83', '84'];
    expect((await readPendingCustomers(fixture.admin, w, numbers)).size).toBe(4);
    await fixture.add('customer', written);
    await fixture.untilDrained();
    expect([...(await readPendingCustomers(fixture.admin, w, numbers)).keys()]).toEqual(['84']);
    expect(await findPendingCustomer(fixture.admin, w, 'again')).toBe('84');
    expect(await findPendingCustomer(fixture.admin, w, 'written')).toBeUndefined();
  });

  it('skips the rows that their own transaction has discarded', async () => {
    const { workspaceId, rows } = clicks(4);
    await fixture.add('click', rows, { discarded: [0, 2] });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly([String(rows[1]?.[2]), String(rows[3]?.[2])].sort()));
  });

  it('leaves a job of an unsupported version for a newer writer, and writes the others meanwhile', async () => {
    const { workspaceId, rows, ids } = clicks(2);
    const jobId = await fixture.add('click', [['of', 'the', 'future']], { version: 99 });
    await fixture.add('click', rows);
    await waitFor(() => fixture.admin.zscore(queueKey('click', 'delayed'), jobId), { what: 'the job to be delayed' });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
    expect(await fixture.admin.get(rowsKey('click', jobId))).toBe('["of","the","future"]');
    await fixture.admin.zrem(queueKey('click', 'delayed'), jobId);
  });
});

describe('a job that is added again', () => {
  it('is completed without another insert when its batch was acknowledged', async () => {
    const { workspaceId, rows, ids } = clicks(3);
    const jobId = await fixture.add('click', rows);
    await fixture.untilDrained();
    // The same job with other rows: they would be in ClickHouse if the writer had inserted them.
    const other = clicks(1, { timestampMs: Date.now() });
    await fixture.add('click', other.rows, { jobId });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
    expect(await counts(other.workspaceId)).toEqual(exactly([]));
    const left = await fixture.admin.pttl(batchOfJobKey(jobId));
    expect(left).toBeGreaterThan(MANIFEST_MS - MINUTE_MS);
  });

  it('repeats the insert of its whole batch under the same token when that was not acknowledged', async () => {
    const { workspaceId, rows, ids } = clicks(6);
    const jobIds = await Promise.all([0, 2, 4].map((at) => fixture.add('click', rows.slice(at, at + 2))));
    await fixture.untilDrained();
    const batchId = (await fixture.admin.get(batchOfJobKey(jobIds[0] ?? ''))) ?? '';
    const batch = await soleManifest(fixture.admin).read(batchId);
    // As after a kill between the insert and its acknowledgement: the jobs are still queued, and the batch is open.
    await fixture.admin.hset(insertBatchKey(batchId), 'state', 'open');
    for (const jobId of batch?.jobIds ?? []) {
      const at = jobIds.indexOf(jobId) * 2;
      await fixture.add('click', rows.slice(at, at + 2), { jobId });
    }
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
    expect(await fixture.admin.hget(insertBatchKey(batchId), 'state')).toBe('acknowledged');
  });

  it('has only its absent rows inserted when the deduplication token of its batch may have expired', async () => {
    const { workspaceId, rows, ids } = clicks(4);
    const jobId = await fixture.add('click', rows);
    await fixture.untilDrained();
    const batchId = (await fixture.admin.get(batchOfJobKey(jobId))) ?? '';
    await fixture.admin.hset(insertBatchKey(batchId), { state: 'open', inserts: -1_000_000 });
    await fixture.database.client.command({
      query: 'DELETE FROM click_events WHERE workspace_id = {w:UInt64} AND click_id = {id:String}',
      query_params: { w: workspaceId, id: ids[0] },
    });
    await fixture.add('click', rows, { jobId });
    await fixture.untilDrained();
    expect((await counts(workspaceId)).ids).toEqual(ids);
  });

  it('is compared with ClickHouse row by row when its manifest entry may have expired', async () => {
    const { workspaceId, rows, ids } = clicks(10, { timestampMs: Date.now() - 20 * MINUTE_MS });
    await fixture.add('click', rows.slice(0, 6));
    await fixture.untilDrained();
    const hex = (Date.now() - 20 * MINUTE_MS).toString(16).padStart(12, '0');
    const oldId = `${hex.slice(0, 8)}-${hex.slice(8)}${createJobId().slice(13)}`;
    for (let time = 0; time < 2; time++) {
      await fixture.add('click', rows, { jobId: oldId });
      await fixture.untilDrained();
      expect(await counts(workspaceId)).toEqual(exactly(ids));
      await fixture.admin.del(batchOfJobKey(oldId));
    }
  });

  it('is compared with ClickHouse row by row when its batch is not in the manifest any more', async () => {
    const { workspaceId, rows, ids } = clicks(4);
    const jobId = await fixture.add('click', rows.slice(0, 2));
    await fixture.untilDrained();
    await fixture.admin.del(insertBatchKey((await fixture.admin.get(batchOfJobKey(jobId))) ?? ''));
    await fixture.add('click', rows, { jobId });
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
  });

  it('is handled with its old batch while new jobs of the same batch are inserted', async () => {
    const first = clicks(2);
    const jobId = await fixture.add('click', first.rows);
    await fixture.untilDrained();
    const second = clicks(2);
    await Promise.all([fixture.add('click', first.rows, { jobId }), fixture.add('click', second.rows)]);
    await fixture.untilDrained();
    expect(await counts(first.workspaceId)).toEqual(exactly(first.ids));
    expect(await counts(second.workspaceId)).toEqual(exactly(second.ids));
  });
});

describe('bad rows', () => {
  it('with forged ids are parked, and no partition is created for them', async () => {
    const { workspaceId, rows, ids } = clicks(3);
    const day = 24 * 3_600_000;
    const forged = [
      clicks(1, { timestampMs: Date.now() + 11 * MINUTE_MS }).rows[0],
      clicks(1, { timestampMs: Date.now() - 31 * day }).rows[0],
      clicks(1, { timestampMs: Date.UTC(2085, 0, 1) }).rows[0],
      ['1', Date.now(), 'no event id here'],
      ['1', Date.now(), createEventId(Date.now() - 1000)],
      'not json',
    ];
    const jobId = await fixture.add('click', [...forged, ...rows]);
    await fixture.untilDrained();
    expect(await counts(workspaceId)).toEqual(exactly(ids));
    expect(await lettersOf(jobId)).toHaveLength(forged.length);
    const partitions = await fixture.select<{ year: string }>(
      "SELECT DISTINCT partition AS year FROM system.parts WHERE table = 'click_events' AND database = currentDatabase() AND active",
    );
    expect(partitions.map(({ year }) => year)).not.toContain('2085');
  });

  it('are found among a thousand good ones and parked once, with their error', async () => {
    const { workspaceId, rows, ids } = clicks(1000);
    const poisoned: unknown[] = rows.map((row) => [...row]);
    const bad = [0, 333, 334, 999];
    for (const index of bad) (poisoned[index] as unknown[])[3] = 'no number';
    const jobIds = await Promise.all([0, 500].map((at) => fixture.add('click', poisoned.slice(at, at + 500))));
    await fixture.untilDrained();
    const badIds = new Set(bad.map((index) => String(rows[index]?.[2])));
    expect(await counts(workspaceId)).toEqual(exactly(ids.filter((id) => !badIds.has(id))));
    const letters = (await Promise.all(jobIds.map(lettersOf))).flat();
    expect(letters.map(({ row }) => String(JSON.parse(row)[2])).sort()).toEqual([...badIds].sort());
    expect(letters[0]?.error).toMatch(/parse|number/i);
  });

  it('of a job with invalid data are parked as a whole', async () => {
    await fixture.admin.hset(jobKey('click', 'strange'), { name: 'x', data: '{"v":"?"}', opts: '{}', timestamp: 1 });
    await fixture.admin.lpush(queueKey('click', 'wait'), 'strange');
    await fixture.admin.zadd('{waymark}:click:marker', 0, '0');
    await fixture.untilDrained();
    expect(await lettersOf('strange')).toMatchObject([{ error: 'invalid job data' }]);
  });
});
