import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEventId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import {
  clickClaim,
  createEventProducer,
  type EventProducer,
  invoiceClaim,
  listDeadLetters,
  queueDepths,
} from '@waymark/event-queue';
import { aClick, aSale, bundleProcess, startTcpProxy, type TcpProxy, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from './fault-length.js';
import { type ReportLine, writeReportSection } from './fault-report.js';
import { forkProcess } from './queue/child-process.js';
import { compareWithStore } from './queue/compare-with-store.js';
import type { SuspendedReport, SuspendedTask } from './queue/messages.js';
import { SentEvents } from './queue/sent-events.js';
import { WritePath } from './queue/write-path.js';
import { untilDrained } from './until-drained.js';

// Rare cases, produced on purpose: a lost answer, a claim without its job, a spool replayed several times, rows
// that ClickHouse refuses.

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const DAY_MS = 24 * 3_600_000;
/** Half of the time after which a commit without an answer is given up. */
const HELD_MS_MAX = 2500;
const SUSPENDED = await bundleProcess(new URL('./queue/suspended-main.ts', import.meta.url));
const report: ReportLine[] = [];
let path: WritePath;
let proxy: TcpProxy;
let redis: Redis;
const producers: EventProducer[] = [];
const directories: string[] = [];

beforeAll(async () => {
  path = await WritePath.start();
  proxy = await startTcpProxy(path.redis.port);
  redis = new Redis(path.redis.url, { maxRetriesPerRequest: null });
  redis.on('error', () => {});
}, 120_000);
afterEach(async () => {
  proxy.pass();
  await Promise.all(producers.splice(0).map((producer) => producer.close()));
});
afterAll(async () => {
  redis?.disconnect();
  await proxy?.stop();
  await path?.stop();
  await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })));
  if (FAULTS.isLong) writeReportSection('Write path, edges', report);
}, 120_000);

async function aDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'waymark-faults-edge-'));
  directories.push(directory);
  return directory;
}

/** A producer in this process that connects through the proxy. */
async function aProducer(spoolDirectory: string): Promise<EventProducer> {
  const producer = createEventProducer({ redisUrl: `redis://127.0.0.1:${proxy.port}`, spoolDirectory, logger: silent });
  producers.push(producer);
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
  return producer;
}

function aVisit(workspaceId: string, visitor: string, facts: Parameters<typeof aClick>[0] = {}) {
  const timestampMs = facts.timestampMs ?? Date.now();
  const clickId = createEventId(timestampMs);
  return {
    claim: clickClaim(workspaceId, visitor),
    clickId,
    rowText: JSON.stringify(aClick({ ...facts, workspaceId, timestampMs, clickId })),
  };
}

function aSaleRow(workspaceId: string, facts: Parameters<typeof aSale>[0] = {}): { id: string; row: EventRow } {
  const now = Date.now();
  const eventId = createEventId(now);
  const click = aClick({ workspaceId, timestampMs: now, clickId: createEventId(now) });
  return { id: eventId, row: aSale({ click, timestampMs: now, eventId, ...facts }) };
}

/** Waits until no job is left, then checks that every sent event is stored once. */
async function expectStoredOnce(
  scenario: string,
  faults: string,
  workspaceId: string,
  sentEvents: SentEvents,
): Promise<void> {
  await untilDrained(path.redis.url, FAULTS.settleMs);
  const result = await compareWithStore(path.client, workspaceId, sentEvents);
  report.push({
    scenario,
    faults,
    events: sentEvents.clicks.size + sentEvents.sales.size,
    lost: result.lost.length,
    twice: result.twice.length,
    viewsEqual: result.viewsDiffer.length === 0,
  });
  expect(result).toMatchObject({ lost: [], twice: [], viewsDiffer: [] });
}

async function countOf(table: string, workspaceId: string): Promise<number> {
  const result = await path.client.query({
    query: `SELECT count() AS rows FROM ${table} WHERE workspace_id = {w:UInt64}`,
    query_params: { w: workspaceId },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ rows: string }>();
  return Number(row?.rows);
}

describe('a lost answer of Redis', () => {
  it(
    'records a sale once when its transaction is repeated after its job was completed',
    async () => {
      const workspaceId = path.nextWorkspace();
      const producer = await aProducer(await aDirectory());
      const sentEvents = new SentEvents();
      let repeated = 0;
      for (let round = 0; repeated < FAULTS.kills; round++) {
        const name = invoiceClaim(workspaceId, `in_${round}`);
        await producer.claims.take([name], `owner ${round}`);
        proxy.holdAnswers();
        const { id, row } = aSaleRow(workspaceId);
        const finals = [{ name, owner: `owner ${round}`, value: id, ttlMs: DAY_MS }];
        const startedMs = performance.now();
        const committing = producer.commit({ rows: [{ kind: 'sale', row }], finals });
        committing.catch(() => undefined);
        const isCompleted = async () => {
          if ((await countOf('sale_events', workspaceId)) <= round) return false;
          const { waiting, active, delayed } = (await queueDepths(redis)).sale;
          return waiting + active + delayed === 0;
        };
        await waitFor(isCompleted, { what: 'the end of its job' });
        const isTooLate = performance.now() - startedMs > HELD_MS_MAX;
        proxy.cut();
        proxy.pass();
        await committing.then(
          () => {
            repeated += 1;
          },
          (err) => {
            // On a busy machine the job may end too late for the repeat: then there is one more round.
            if (!isTooLate) throw err;
          },
        );
        sentEvents.sales.set(`${round}`, id);
        await waitFor(() => producer.ping().then(() => true), { what: 'the connection' });
      }
      await untilDrained(path.redis.url, FAULTS.settleMs);
      await expectStoredOnce(
        'answer lost, transaction repeated after its job',
        `${FAULTS.kills} ×`,
        workspaceId,
        sentEvents,
      );
      expect(await countOf('sale_events', workspaceId)).toBe(sentEvents.sales.size);
    },
    SCENARIO_MS,
  );

  it(
    'records each click once when its clicks were spooled meanwhile',
    async () => {
      const workspaceId = path.nextWorkspace();
      const producer = await aProducer(await aDirectory());
      const sentEvents = new SentEvents();
      for (let round = 0; round < FAULTS.kills; round++) {
        const visits = Array.from({ length: 50 }, (_, visitor) => aVisit(workspaceId, `${round}-${visitor}`));
        proxy.holdAnswers();
        const results = await Promise.all(visits.map((visit) => producer.recordClick(visit)));
        expect(results.every(({ isNew }) => isNew)).toBe(true);
        for (const { clickId } of results) sentEvents.clicks.add(clickId);
        proxy.pass();
        await waitFor(() => producer.ping().then(() => true), { what: 'the connection' });
      }
      await expectStoredOnce('answer lost, clicks spooled as well', `${FAULTS.kills} ×`, workspaceId, sentEvents);
      expect(await countOf('click_events', workspaceId)).toBe(FAULTS.kills * 50);
    },
    SCENARIO_MS,
  );
});

describe('a claim whose owner is killed before its job', () => {
  it(
    'makes a repeat wait, never leads to a false answer, and is free again when it has expired',
    async () => {
      const workspaceId = path.nextWorkspace();
      const producer = await aProducer(await aDirectory());
      const name = invoiceClaim(workspaceId, 'in_1');
      const dead = createEventProducer({
        redisUrl: path.redis.url,
        spoolDirectory: await aDirectory(),
        logger: silent,
      });
      producers.push(dead);
      await waitFor(async () => dead.claims.take([name], 'killed'), { what: 'the claim' });
      expect(await producer.claims.take([name], 'repeat')).toEqual([{ state: 'pending' }]);
      // Half a minute; only the long form of the test waits for it.
      if (!FAULTS.isLong) await redis.pexpire(`{waymark}:claim:${name}`, 1);
      await waitFor(async () => (await producer.claims.read([name]))[0]?.state === 'free', {
        what: 'the claim to expire',
      });
      const { id, row } = aSaleRow(workspaceId);
      const owner = 'repeat later';
      await producer.claims.take([name], owner);
      await producer.commit({ rows: [{ kind: 'sale', row }], finals: [{ name, owner, value: id, ttlMs: DAY_MS }] });
      const sentEvents = new SentEvents();
      sentEvents.sales.set('in_1', id);
      await expectStoredOnce('killed between claim and job, sale', '1 × kill -9', workspaceId, sentEvents);
    },
    SCENARIO_MS,
  );
});

describe('a process that is suspended between the claim of an invoice and its transaction', () => {
  it(
    'records nothing when the same request has been recorded after its claim expired',
    async () => {
      const workspaceId = path.nextWorkspace();
      const producer = await aProducer(await aDirectory());
      const name = invoiceClaim(workspaceId, 'in_1');
      const task: SuspendedTask = {
        ...{ redisUrl: path.redis.url, spoolDirectory: await aDirectory(), workspaceId, invoiceId: 'in_1' },
        ...{ row: aSaleRow(workspaceId).row, answer: 'the answer of both' },
      };
      const child = forkProcess(SUSPENDED, [JSON.stringify(task)]);
      const [waiting] = (await once(child, 'message')) as [SuspendedReport];
      expect(waiting.state).toBe('waiting');
      await redis.pexpire(`{waymark}:claim:${name}`, 1);
      await waitFor(async () => (await producer.claims.take([name], 'repeat'))[0]?.state === 'mine', {
        what: 'the claim to expire',
      });
      const { id, row } = aSaleRow(workspaceId);
      const finals = [{ name, owner: 'repeat', value: task.answer, ttlMs: DAY_MS }];
      await producer.commit({ rows: [{ kind: 'sale', row }], finals });
      const ended = once(child, 'message') as Promise<[SuspendedReport]>;
      child.kill('SIGCONT');
      expect((await ended)[0].state).toBe('refused');
      const sentEvents = new SentEvents();
      sentEvents.sales.set('in_1', id);
      await expectStoredOnce('suspended between claim and transaction', '1 × SIGSTOP', workspaceId, sentEvents);
      expect(await countOf('sale_events', workspaceId)).toBe(1);
    },
    SCENARIO_MS,
  );
});

describe('a spool', () => {
  it(
    'that is replayed several times, by several processes, records each click once',
    async () => {
      const workspaceId = path.nextWorkspace();
      const spoolDirectory = await aDirectory();
      const first = await aProducer(spoolDirectory);
      proxy.holdRequests();
      const visits = Array.from({ length: 200 }, (_, visitor) => aVisit(workspaceId, `spooled-${visitor}`));
      const results = await Promise.all(visits.map((visit) => first.recordClick(visit)));
      const sentEvents = new SentEvents();
      for (const { clickId } of results) sentEvents.clicks.add(clickId);
      const copies = await copyAsOrphans(spoolDirectory, await aDirectory(), 3);
      expect(copies.length).toBeGreaterThan(0);
      proxy.pass();
      // One copy during the first replay, the others long after its jobs are completed.
      for (const copy of copies) {
        await rename(copy.from, join(spoolDirectory, copy.name));
        await waitFor(async () => !(await readdir(spoolDirectory)).includes(copy.name), {
          what: 'the copy to be taken over',
        });
      }
      await waitFor(async () => !(await readdir(spoolDirectory)).some((name) => name.endsWith('.spool')), {
        what: 'the replay',
      });
      await untilDrained(path.redis.url, FAULTS.settleMs);
      await expectStoredOnce('spool replayed again and again', '4 replays', workspaceId, sentEvents);
      expect(await countOf('click_events', workspaceId)).toBe(200);
    },
    SCENARIO_MS,
  );
});

describe('rows that ClickHouse refuses', () => {
  it(
    'are parked one by one, and the rows beside them written once',
    async () => {
      const workspaceId = path.nextWorkspace();
      const producer = await aProducer(await aDirectory());
      const sentEvents = new SentEvents();
      const lettersBefore = (await listDeadLetters(redis, { limit: 1 })).total;
      const isBad = (number: number) => number % 97 === 5;
      const count = FAULTS.isLong ? 5000 : 300;
      const forged = [Date.now() + 11 * 60_000, Date.now() - 31 * DAY_MS, Date.UTC(2090, 0, 1)];
      await Promise.all([
        ...Array.from({ length: count }, async (_, number) => {
          const { id, row } = aSaleRow(workspaceId, isBad(number) ? {} : { amount: number });
          const bad = row.map((value, position) => (position === row.length - 2 ? 'no amount' : value));
          await producer.commit({ rows: [{ kind: 'sale', row: isBad(number) ? bad : row }], finals: [] });
          if (!isBad(number)) sentEvents.sales.set(`${number}`, id);
        }),
        ...forged.map((timestampMs, number) =>
          producer.recordClick(aVisit(workspaceId, `forged-${number}`, { timestampMs })),
        ),
        ...Array.from({ length: 20 }, async (_, number) => {
          // The largest row allowed, with two bytes per character.
          const visit = aVisit(workspaceId, `large-${number}`, { userAgent: 'é'.repeat(49_500) });
          sentEvents.clicks.add((await producer.recordClick(visit)).clickId);
        }),
      ]);
      await untilDrained(path.redis.url, FAULTS.settleMs);
      await expectStoredOnce('poison, forged ids, rows at the limit', `${count + 23} rows`, workspaceId, sentEvents);
      const bad = Array.from({ length: count }, (_, number) => number).filter(isBad).length;
      expect((await listDeadLetters(redis, { limit: 1 })).total - lettersBefore).toBe(bad + forged.length);
    },
    SCENARIO_MS,
  );
});

interface Copy {
  readonly from: string;
  readonly name: string;
}

/** Copies every spool file under the name of a dead process; the copies are then moved into the spool one by one. */
async function copyAsOrphans(directory: string, aside: string, times: number): Promise<Copy[]> {
  const dead = spawn(process.execPath, ['-e', '']);
  await once(dead, 'exit');
  const copies: Copy[] = [];
  for (let time = 0; time < times; time++) {
    for (const name of (await readdir(directory)).filter((each) => each.endsWith('.spool'))) {
      const [host, , started, nonce, number] = name.split('~');
      const copy = [host, dead.pid, started, `${nonce}${time}`, number].join('~');
      await copyFile(join(directory, name), join(aside, copy));
      copies.push({ from: join(aside, copy), name: copy });
    }
  }
  return copies;
}
