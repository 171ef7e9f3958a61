import { aClick, aLead, aSale, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  ClaimHeldError,
  type CommitRequest,
  findPendingCustomer,
  invoiceClaim,
  leadClaim,
  pendingCustomer,
  readPendingCustomers,
  stateKey,
} from '../../src/index.js';
import { isSilentRow } from '../../src/queue/job-rows.js';
import { claimKey } from '../../src/queue/keys.js';
import { aVisit, type QueueFixture, startQueueFixture } from '../queue-fixture.js';

const DAY_MS = 24 * 3_600_000;
let queue: QueueFixture;

beforeAll(async () => {
  queue = await startQueueFixture();
});
afterAll(() => queue.stop());
afterEach(() => queue.reset());

function aSaleCommit(owner: string, name = invoiceClaim('ws_1', 'in_1')): CommitRequest {
  return {
    rows: [
      { kind: 'lead', row: aLead() },
      { kind: 'sale', row: aSale() },
    ],
    finals: [{ name, owner, value: `answer of ${owner}`, ttlMs: DAY_MS }],
    state: [{ key: stateKey(`customer:${name}`), value: owner, ttlMs: DAY_MS }],
  };
}

describe('claims', () => {
  const names = [invoiceClaim('ws_1', 'in_1'), leadClaim('ws_1', 'jane', 'Sign up')];

  it('belong to the owner that takes them first, and taking them again succeeds', async () => {
    const { claims } = await queue.aProducer();
    expect(await claims.take(names, 'one')).toEqual([{ state: 'mine' }, { state: 'mine' }]);
    expect(await claims.take(names, 'one')).toEqual([{ state: 'mine' }, { state: 'mine' }]);
    expect(await claims.take(names, 'two')).toEqual([{ state: 'pending' }, { state: 'pending' }]);
    expect(await claims.read([...names, 'other'])).toEqual([
      { state: 'pending' },
      { state: 'pending' },
      { state: 'free' },
    ]);
  });

  it('are released by their owner only', async () => {
    const { claims } = await queue.aProducer();
    await claims.take(names, 'one');
    await claims.release(names, 'two');
    expect(await claims.read(names)).toEqual([{ state: 'pending' }, { state: 'pending' }]);
    await claims.release(names, 'one');
    expect(await claims.read(names)).toEqual([{ state: 'free' }, { state: 'free' }]);
  });

  it('expire by themselves when their owner is killed before its event is queued', async () => {
    const { claims } = await queue.aProducer();
    await claims.take(names, 'killed');
    const left = await queue.admin.pttl(claimKey(names[0] ?? ''));
    expect(left).toBeGreaterThan(25_000);
    expect(left).toBeLessThanOrEqual(30_000);
  });

  it('are free again soon after Redis was away, whether the answer to taking them or their release was lost', async () => {
    const { claims } = await queue.aProducer();
    await claims.take(names, 'one');
    await queue.redis.kill9();
    await expect(claims.release(names, 'one')).rejects.toMatchObject({ status: 500 });
    await queue.redis.restart();
    const free = async () => (await claims.read(names)).every(({ state }) => state === 'free');
    // Before they expire.
    const areFree = () =>
      waitFor(() => free().catch(() => false), { what: 'the claims to be free', timeoutMs: 20_000 });
    await areFree();

    queue.proxy.holdAnswers();
    const taking = claims.take(names, 'two');
    await waitFor(async () => (await queue.admin.exists(...names.map(claimKey))) === 2, { what: 'the claims' });
    queue.proxy.cut();
    await expect(taking).rejects.toMatchObject({ status: 500 });
    queue.proxy.pass();
    await areFree();
  });

  it('fail with an error that allows a retry when Redis is down', async () => {
    const { claims } = await queue.aProducer();
    await queue.redis.kill9();
    await expect(claims.take(names, 'one')).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
    await queue.redis.restart();
  });
});

describe('commits', () => {
  it('of a new customer make it pending, for a day at most; late ones do not', async () => {
    const producer = await queue.aProducer();
    const row = ['7', '77', 1, 0, 'ext_1', '', 'FR', '2', 0, '{"id":"cus_1"}'];
    const commit = (number: string, owner: string) => ({
      rows: [{ kind: 'customer' as const, row: row.with(1, number) }],
      finals: [{ name: invoiceClaim('ws_1', 'in_1'), owner, value: owner, ttlMs: DAY_MS }],
      state: pendingCustomer(row.with(1, number)),
    });
    await producer.claims.take([invoiceClaim('ws_1', 'in_1')], 'one');
    await producer.commit(commit('77', 'one'));
    await expect(producer.commit(commit('78', 'two'))).rejects.toThrow();
    expect(await readPendingCustomers(queue.admin, '7', ['77', '78'])).toEqual(new Map([['77', '{"id":"cus_1"}']]));
    expect(await findPendingCustomer(queue.admin, '7', 'ext_1')).toBe('77');
    for (const { key } of commit('77', 'one').state) {
      expect(await queue.admin.pttl(key)).toBeGreaterThan(DAY_MS - 60_000);
      expect(await queue.admin.pttl(key)).toBeLessThanOrEqual(DAY_MS);
    }
  });

  it('make rows of several kinds, final claims and state visible together', async () => {
    const producer = await queue.aProducer();
    const name = invoiceClaim('ws_1', 'in_1');
    await producer.claims.take([name], 'one');
    const request = aSaleCommit('one');
    await producer.commit(request);
    expect((await queue.queued('lead')).map(({ rows }) => rows)).toEqual([[aLeadOf(request)]]);
    expect(await queue.queued('sale')).toHaveLength(1);
    expect(await producer.claims.take([name], 'two')).toEqual([{ state: 'final', value: 'answer of one' }]);
    expect(await queue.admin.get(stateKey(`customer:${name}`))).toBe('one');
    await producer.claims.release([name], 'one');
    expect(await producer.claims.read([name])).toMatchObject([{ state: 'final' }]);
  });

  it('queue copies of a row under their own ids, silently, whatever the row has in it', async () => {
    const producer = await queue.aProducer();
    const row = aLead({ eventName: '","id" "two" ]' });
    const id = String(row[2]);
    await producer.commit({ rows: [{ kind: 'lead', row, copyIds: ['two', 'three'] }], finals: [] });
    const texts = (await queue.queued('lead')).flatMap(({ texts }) => texts);
    expect(texts.map((text) => JSON.parse(text))).toEqual([id, 'two', 'three'].map((one) => row.with(2, one)));
    expect(texts.map(isSilentRow)).toEqual([false, true, true]);
  });

  it('are refused before anything is queued when their rows have more than 3 MB, copies included', async () => {
    const producer = await queue.aProducer();
    const row = aLead({ metadata: { note: 'x'.repeat(9_980) } });
    const commit = (copies: number) =>
      producer.commit({ rows: [{ kind: 'lead', row, copyIds: Array(copies).fill('copy') }], finals: [] });
    await expect(commit(199)).rejects.toMatchObject({ code: 'unprocessable_entity' });
    expect(await queue.queued('lead')).toEqual([]);
    await commit(99);
    expect((await queue.queued('lead'))[0]?.rows).toHaveLength(100);
  });

  it('take free claims in the same transaction, and record nothing when one of them is held', async () => {
    const producer = await queue.aProducer();
    const [invoice, lead] = [invoiceClaim('ws_1', 'in_1'), leadClaim('ws_1', 'jane', 'Sign up')];
    const commit = (answer: string) => {
      const finals = [invoice, lead].map((name) => ({ name, owner: undefined, value: answer, ttlMs: DAY_MS }));
      return producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals });
    };
    await producer.claims.take([lead], 'someone');
    await expect(commit('too early')).rejects.toBeInstanceOf(ClaimHeldError);
    expect(await producer.claims.read([invoice, lead])).toEqual([{ state: 'free' }, { state: 'pending' }]);
    await producer.claims.release([lead], 'someone');

    const outcomes = await Promise.allSettled(['one', 'two', 'three'].map(commit));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await producer.claims.read([invoice, lead])).toEqual([
      { state: 'final', value: 'one' },
      { state: 'final', value: 'one' },
    ]);
    await expect(commit('too late')).rejects.toBeInstanceOf(ClaimHeldError);
    expect(await queue.queued('sale')).toMatchObject([
      { rows: [{}], progress: '{"struck":[0]}' },
      { rows: [{}, {}, {}], progress: '{"struck":[1,2]}' },
      { rows: [{}], progress: '{"struck":[0]}' },
    ]);
  });

  it('that are concurrent share one job per kind', async () => {
    const producer = await queue.aProducer();
    await Promise.all(
      Array.from({ length: 30 }, () => producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] })),
    );
    const jobs = await queue.queued('sale');
    expect(jobs.length).toBeLessThan(5);
    expect(jobs.flatMap(({ rows }) => rows)).toHaveLength(30);
  });

  it('can contain click rows, next to clicks that are recorded', async () => {
    const producer = await queue.aProducer();
    const row = aClick();
    const click = aVisit('v');
    await Promise.all([producer.recordClick(click), producer.commit({ rows: [{ kind: 'click', row }], finals: [] })]);
    const ids = (await queue.queued('click')).flatMap(({ rows }) => rows.map((queued) => queued[2]));
    expect(ids.sort()).toEqual([click.clickId, row[2]].sort());
  });

  it('record nothing when another owner holds their claim, without effect on other commits of the batch', async () => {
    const producer = await queue.aProducer();
    const [mine, lost] = [invoiceClaim('ws_1', 'mine'), invoiceClaim('ws_1', 'lost')];
    await producer.claims.take([mine, lost], 'slow');
    await queue.admin.set(claimKey(lost), 'p:someone else');
    const outcomes = await Promise.allSettled([
      producer.commit(aSaleCommit('slow', lost)),
      producer.commit(aSaleCommit('slow', mine)),
    ]);
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { status: 500, retryAfterSeconds: 1 } });
    expect(outcomes[1]?.status).toBe('fulfilled');
    expect(await queue.admin.get(claimKey(lost))).toBe('p:someone else');
    expect(await queue.admin.get(stateKey(`customer:${lost}`))).toBeNull();
    // The writer skips the rows that the transaction has discarded.
    for (const kind of ['lead', 'sale'] as const) {
      expect(await queue.queued(kind)).toMatchObject([{ rows: [{}, {}], progress: '{"struck":[0]}' }]);
    }
  });

  it('record nothing when their claim has expired', async () => {
    const producer = await queue.aProducer();
    await expect(producer.commit(aSaleCommit('never taken'))).rejects.toMatchObject({ status: 500 });
    expect(await queue.queued('sale')).toMatchObject([{ progress: '{"struck":[0]}' }]);
  });

  it('are refused more than ten seconds after their claim was taken', async () => {
    let time = Date.now();
    const producer = await queue.aProducer({ now: () => time });
    const name = invoiceClaim('ws_1', 'in_1');
    await producer.claims.take([name], 'old');
    time += 10_001;
    await expect(producer.commit(aSaleCommit('old'))).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
    await expect(producer.claims.take([name], 'old')).rejects.toMatchObject({ status: 500 });
    expect(await queue.queued('sale')).toEqual([]);
  });

  it('fail at once, with nothing recorded, when Redis is down', async () => {
    const producer = await queue.aProducer();
    const name = invoiceClaim('ws_1', 'in_1');
    await producer.claims.take([name], 'one');
    await queue.redis.kill9();
    await waitFor(
      () =>
        producer.ping().then(
          () => false,
          () => true,
        ),
      { what: 'the loss to be noticed' },
    );
    await expect(producer.commit(aSaleCommit('one'))).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
    await queue.redis.restart();
    await waitFor(() => producer.ping().then(() => true), { what: 'the connection' });
    expect(await queue.queued('sale')).toEqual([]);
  });

  it('succeed once when the answer of their transaction is lost with the connection', async () => {
    const producer = await queue.aProducer();
    const name = invoiceClaim('ws_1', 'in_1');
    await producer.claims.take([name], 'one');
    queue.proxy.holdAnswers();
    const committing = producer.commit(aSaleCommit('one'));
    await waitFor(async () => (await queue.queued('sale')).length === 1, { what: 'the transaction to be carried out' });
    queue.proxy.cut();
    queue.proxy.pass();
    await committing;
    expect(await queue.queued('sale')).toMatchObject([{ rows: [{}], progress: null }]);
    expect(await producer.claims.read([name])).toEqual([{ state: 'final', value: 'answer of one' }]);
  });

  it('without claims are not recorded when their caller has an error because the answer of the transaction was lost', async () => {
    const producer = await queue.aProducer();
    queue.proxy.holdAnswers();
    const committing = producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] });
    await waitFor(async () => (await queue.queued('sale')).length === 1, { what: 'the transaction to be carried out' });
    queue.proxy.holdRequests();
    queue.proxy.cut();
    await expect(committing).rejects.toMatchObject({ status: 500 });
    // Also if the first repeats fail, because Redis is away for longer than a caller waits.
    queue.proxy.cut();
    queue.proxy.pass();
    const isStruck = async () => (await queue.queued('sale'))[0]?.progress === '{"struck":[0]}';
    await waitFor(isStruck, { what: 'the repeat', timeoutMs: 20_000 });
  });

  it('whose outcome is unknown when the producer closes leave no rejection unhandled, which would end the process', async () => {
    const unhandled: unknown[] = [];
    const add = (err: unknown) => void unhandled.push(err);
    process.on('unhandledRejection', add);
    onTestFinished(() => void process.off('unhandledRejection', add));
    const producer = await queue.aProducer();
    queue.proxy.holdAnswers();
    const committing = producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] });
    await waitFor(async () => (await queue.queued('sale')).length === 1, { what: 'the transaction to be carried out' });
    queue.proxy.holdRequests();
    queue.proxy.cut();
    await Promise.all([expect(committing).rejects.toMatchObject({ status: 500 }), producer.close()]);
    expect(unhandled).toEqual([]);
  });

  it('are an error, not free to be recorded anew, when their first transaction may have been written a minute ago', async () => {
    let laterMs = 0;
    const producer = await queue.aProducer({ now: () => Date.now() + laterMs });
    const name = invoiceClaim('ws_1', 'in_1');
    const finals = [{ name, owner: undefined, value: 'taken', ttlMs: DAY_MS }];
    queue.proxy.holdAnswers();
    const committing = producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals });
    await waitFor(async () => (await queue.queued('sale')).length === 1, { what: 'the transaction to be carried out' });
    // The job is written, and only the claim is left after the standstill.
    const claim = (await queue.admin.get(claimKey(name))) ?? '';
    await queue.admin.flushall();
    await queue.admin.set(claimKey(name), claim);
    laterMs = 61_000;
    queue.proxy.cut();
    queue.proxy.pass();
    await expect(committing).rejects.toMatchObject({ status: 500 });
    expect(await queue.queued('sale')).toMatchObject([{ rows: [{}], progress: '{"struck":[0]}' }]);
  });

  it('are recorded under the same job when Redis answers late', async () => {
    const producer = await queue.aProducer();
    await producer.claims.take([invoiceClaim('ws_1', 'in_1')], 'one');
    queue.proxy.holdRequests();
    const committing = producer.commit(aSaleCommit('one'));
    await new Promise((resolve) => setImmediate(resolve));
    queue.proxy.pass();
    await committing;
    expect(await queue.queued('sale')).toHaveLength(1);
  });

  it('accept state keys of the queue only', async () => {
    const producer = await queue.aProducer();
    const request = { rows: [], finals: [], state: [{ key: 'elsewhere', value: '', ttlMs: 1 }] };
    await expect(producer.commit(request)).rejects.toThrow(TypeError);
  });
});

function aLeadOf(request: CommitRequest): unknown {
  return JSON.parse(JSON.stringify(request.rows.find(({ kind }) => kind === 'lead')?.row));
}
