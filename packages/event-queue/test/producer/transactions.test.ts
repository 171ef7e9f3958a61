import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aClick, startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createWebhookJobSender, listDeadLetters, replayDeadLetters } from '../../src/index.js';
import { runTransaction } from '../../src/producer/transaction.js';
import { createDeadLetters, type DeadLetter } from '../../src/queue/dead-letters.js';
import { createJobAdder } from '../../src/queue/job-adder.js';
import { rowJobId } from '../../src/queue/job-id.js';
import { claimKey, jobKey, queueKey } from '../../src/queue/keys.js';
import { createMarkerSequence } from '../../src/spool/batch-markers.js';
import { alone, soleManifest } from '../alone.js';

let server: TestRedis;
/** The connection under test. */
let redis: Redis;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis({ args: [] });
  admin = new Redis(server.url);
});
beforeEach(async () => {
  await admin.flushall();
  redis = new Redis(server.url);
});
afterEach(async () => {
  redis.disconnect();
  await admin.config('SET', 'maxmemory', '0');
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const letter = (jobId: string): DeadLetter => ({
  kind: 'click',
  version: 1,
  row: JSON.stringify(aClick()),
  error: 'refused',
  at: Date.now(),
  jobId,
  index: 0,
});
const parked = async () => (await listDeadLetters(admin)).total;

/** Every operation that adds jobs in a transaction: its name, its queue and the call. */
const WRITES: readonly (readonly [string, 'dead-letter' | 'webhook' | 'click', () => Promise<unknown>])[] = [
  ['parking a dead letter', 'dead-letter', () => createDeadLetters(redis, alone(redis)).park([letter('parked')])],
  [
    'sending webhook jobs',
    'webhook',
    () => createWebhookJobSender(redis, alone(redis)).send([{ id: 'wh-1', data: '{}' }]),
  ],
  [
    'sending webhook jobs once',
    'webhook',
    () => createWebhookJobSender(redis, alone(redis)).sendOnce('end', [{ id: 'wh-1', data: '{}' }]),
  ],
  [
    'acknowledging a batch with webhook jobs',
    'webhook',
    () =>
      soleManifest(redis).acknowledge({
        ...{ batchId: 'batch', jobIds: ['job'], webhookJobs: [{ id: 'wh-1', data: '{}' }] },
        publication: { version: '', kind: 'click', entries: [] },
      }),
  ],
  [
    'adding a batch',
    'click',
    () => {
      const job = { kind: 'click', jobId: 'batch', version: 1, rowCount: 1, rows: '[]' } as const;
      const marker = createMarkerSequence(Date.now)();
      return runTransaction(createJobAdder(redis), { jobs: [job], clicks: [], queuedClicks: [], marker, entries: [] });
    },
  ],
];

describe.each(WRITES)('%s', (_what, queue, write) => {
  it('fails when Redis discards the transaction because a watched key has changed', async () => {
    await redis.watch('watched');
    await admin.set('watched', 'changed');
    await expect(write()).rejects.toThrow();
    expect(await admin.exists(queueKey(queue, 'wait'))).toBe(0);
    // The connection is still usable.
    await write();
    expect(await admin.llen(queueKey(queue, 'wait'))).toBe(1);
  });

  it('fails when one command of the transaction fails', async () => {
    await admin.set(queueKey(queue, 'wait'), 'no list');
    await expect(write()).rejects.toThrow();
  });

  it('fails when Redis has no memory left', async () => {
    await redis.ping();
    await admin.config('SET', 'maxmemory', '1');
    await expect(write()).rejects.toThrow();
    await admin.config('SET', 'maxmemory', '0');
    expect(await admin.exists(queueKey(queue, 'wait'))).toBe(0);
    await write();
  });

  it('works again after Redis has lost its scripts', async () => {
    await write();
    await admin.flushall();
    await admin.script('FLUSH');
    await write().catch(write);
    expect(await admin.llen(queueKey(queue, 'wait'))).toBe(1);
  });
});

it('jobs that are sent once are not sent again after Redis has removed them, but those of another name are', async () => {
  const send = (name: string, id: string) =>
    createWebhookJobSender(redis, alone(redis)).sendOnce(name, [{ id, data: '{}' }]);
  const waiting = () => admin.lrange(queueKey('webhook', 'wait'), 0, -1);
  await send('one', 'wh-1');
  await admin.del(jobKey('webhook', 'wh-1'), queueKey('webhook', 'wait'));
  await send('one', 'wh-1');
  expect(await waiting()).toEqual([]);
  await send('two', 'wh-2');
  expect(await waiting()).toEqual(['wh-2']);
});

describe('replaying a dead letter', () => {
  const id = rowJobId('replayed', 0);

  it('keeps the letter when another command replays it at the same moment', async () => {
    await createDeadLetters(admin, alone(admin)).park([letter('replayed')]);
    // Both read the letter before either has added the job: one transaction is discarded.
    const other = new Redis(server.url);
    try {
      const counts = await Promise.all([replayDeadLetters(redis), replayDeadLetters(other)]);
      expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    } finally {
      other.disconnect();
    }
    expect(await parked()).toBe(0);
    expect(await admin.llen(queueKey('click', 'wait'))).toBe(1);
  });

  it('fails, and keeps the letter, when one command of the transaction fails', async () => {
    await createDeadLetters(admin, alone(admin)).park([letter('replayed')]);
    await admin.set(queueKey('click', 'wait'), 'no list');
    await expect(replayDeadLetters(redis)).rejects.toThrow();
    expect(await parked()).toBe(1);
    expect(await admin.exists(jobKey('dead-letter', id))).toBe(1);
  });

  it('fails, and keeps the letter, when Redis has no memory left', async () => {
    await createDeadLetters(admin, alone(admin)).park([letter('replayed')]);
    await admin.config('SET', 'maxmemory', '1');
    await expect(replayDeadLetters(redis)).rejects.toThrow();
    await admin.config('SET', 'maxmemory', '0');
    expect(await parked()).toBe(1);
  });
});

describe('a transaction that is repeated because its answer was lost', () => {
  const CUSTOMER = 'customer:ws_1:ada';
  const INVOICE = 'invoice:ws_1:42';
  const job = { kind: 'sale', jobId: 'repeated', version: 1, rowCount: 1, rows: '[]' } as const;
  const final = (name: string) => ({ key: claimKey(name), pending: 'p:owner', final: `f:${name}`, ttlMs: 60_000 });
  const state = { key: 'waymark-test:state', value: 'latest lead', ttlMs: 60_000 };
  const plan = () => ({
    jobs: [job],
    clicks: [],
    queuedClicks: [],
    marker: createMarkerSequence(Date.now)(),
    entries: [
      { finals: [final(CUSTOMER), final(INVOICE)], state: [state], rows: [{ job: 0, index: 0 }], isAbandoned: false },
    ],
  });
  const discardedRows = () => admin.hget(jobKey('sale', 'repeated'), 'progress');
  const hold = () => admin.mset(claimKey(CUSTOMER), 'p:owner', claimKey(INVOICE), 'p:owner');

  it('keeps its rows, although a change of the customer removed its claim in between, and does not set the claim again', async () => {
    await hold();
    const same = plan();
    expect((await runTransaction(createJobAdder(redis), same)).late.size).toBe(0);
    await admin.del(claimKey(CUSTOMER), state.key);
    expect((await runTransaction(createJobAdder(redis), same)).late.size).toBe(0);
    expect(await discardedRows()).toBeFalsy();
    expect(await admin.mget(claimKey(CUSTOMER), claimKey(INVOICE), state.key)).toEqual([null, `f:${INVOICE}`, null]);
  });

  it('stays late, although its claims have become free in between', async () => {
    await admin.set(claimKey(CUSTOMER), 'p:other');
    await admin.set(claimKey(INVOICE), 'p:owner');
    const same = plan();
    expect([...(await runTransaction(createJobAdder(redis), same)).late]).toEqual([0]);
    await hold();
    expect([...(await runTransaction(createJobAdder(redis), same)).late]).toEqual([0]);
    expect(await discardedRows()).toBe('{"struck":[0]}');
    expect(await admin.get(claimKey(INVOICE))).toBe('p:owner');
  });

  it('discards its rows again after the writer has taken the job away', async () => {
    await admin.set(claimKey(CUSTOMER), 'p:other');
    const same = plan();
    await runTransaction(createJobAdder(redis), same);
    await admin.del(jobKey('sale', 'repeated'), queueKey('sale', 'wait'));
    await hold();
    expect([...(await runTransaction(createJobAdder(redis), same)).late]).toEqual([0]);
    expect(await discardedRows()).toBe('{"struck":[0]}');
  });

  it('decides as its first run did while its job waits, although its idempotency key has expired', async () => {
    await hold();
    const same = plan();
    await runTransaction(createJobAdder(redis), same);
    const outcomes = await admin.keys('*:outcome:*');
    expect(outcomes).toHaveLength(1);
    await admin.del(...outcomes);
    expect((await runTransaction(createJobAdder(redis), same)).late.size).toBe(0);
    expect(await discardedRows()).toBeFalsy();
  });

  it('records nothing when another owner has recorded the same request', async () => {
    await hold();
    expect((await runTransaction(createJobAdder(redis), plan())).late.size).toBe(0);
    const entries = plan().entries.map((entry) => ({
      ...entry,
      finals: entry.finals.map((one) => ({ ...one, pending: 'p:second owner' })),
    }));
    const second = { ...plan(), jobs: [{ ...job, jobId: 'second' }], entries };
    expect([...(await runTransaction(createJobAdder(redis), second)).late]).toEqual([0]);
    expect(await admin.hget(jobKey('sale', 'second'), 'progress')).toBe('{"struck":[0]}');
    expect(await discardedRows()).toBeFalsy();
  });
});

it('no other code runs a transaction or a pipeline without checking the replies', () => {
  const root = join(import.meta.dirname, '../../../..');
  const sources = ['packages', 'services'].flatMap((kind) =>
    readdirSync(join(root, kind)).flatMap((room) =>
      readdirSync(join(root, kind, room, 'src'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(kind, room, 'src', name)),
    ),
  );
  const running = sources.filter((file) => /\.exec\(\s*\)/.test(readFileSync(join(root, file), 'utf8')));
  const checking = ['packages/event-queue/src/redis/execute-transaction.ts', 'packages/redis/src/replication.ts'];
  expect(running).toEqual(checking);
});
