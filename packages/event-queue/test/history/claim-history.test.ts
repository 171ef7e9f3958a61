import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClaimHeldError, KEEPER_STARTS_KEY, replayDeadLetters, START_COUNTS_KEY, setSeen } from '../../src/index.js';
import { createDeadLetters } from '../../src/queue/dead-letters.js';
import { claimKey } from '../../src/queue/keys.js';
import { type QueueFixture, startQueueFixture } from '../queue-fixture.js';
import { aCustomerCommit, claimOf, HISTORY, openHistory, WORKSPACE } from './history-fixture.js';

const BITS = 8192;
let queue: QueueFixture;
let opened: Awaited<ReturnType<typeof openHistory>>;

beforeAll(async () => {
  queue = await startQueueFixture();
});
beforeEach(async () => {
  opened = await openHistory(queue.redis.url);
});
afterEach(async () => {
  opened.redis.disconnect();
  await queue.reset();
});
afterAll(() => queue.stop());

async function complete(...customers: readonly string[]): Promise<void> {
  const filling = await opened.history.begin(BITS);
  expect(await filling?.add(customers.map(claimOf))).toBe(true);
  expect(await filling?.complete()).toBe(true);
}

/** A producer that knows the identity of its server. */
async function aProducer() {
  const producer = await queue.aProducer();
  const isKnown = async () =>
    (await opened.redis.eval("return redis.call('GET', KEYS[1]) or 'none'", 1, 'x')) === 'none';
  await waitFor(isKnown, { what: 'Redis' });
  return producer;
}

describe('a complete history', () => {
  it('shows that a claim was never final, and nothing of one that was or may have been', async () => {
    const { claims } = await aProducer();
    await complete('old');
    const unseen = () => claims.lookUp([claimOf('new'), claimOf('old')]);
    await waitFor(async () => (await unseen())[0]?.state === 'free' && 'isUnseen' in ((await unseen())[0] ?? {}), {
      what: 'the identity of the server',
    });
    expect(await unseen()).toEqual([{ state: 'free', isUnseen: true }, { state: 'free' }]);
    expect(await claims.take([claimOf('new'), claimOf('old')], 'me')).toEqual([
      { state: 'mine', isUnseen: true },
      { state: 'mine' },
    ]);
  });

  it('has the claims of a commit from the moment of the commit, also when the claim itself is gone', async () => {
    const producer = await aProducer();
    await complete();
    await waitFor(() => producer.commit(aCustomerCommit('jane', true)).then(() => true), { what: 'a commit' });
    await queue.admin.del(claimKey(claimOf('jane')));
    expect(await producer.claims.lookUp([claimOf('jane')])).toEqual([{ state: 'free' }]);
    await expect(producer.commit(aCustomerCommit('jane', true))).rejects.toBeInstanceOf(ClaimHeldError);
    // What was refused is discarded: one customer is in the queue.
    const jobs = await queue.queued('customer');
    expect(jobs.filter(({ progress }) => progress === null || progress === '0')).toHaveLength(1);
  });

  it('has what was set from outside of commits', async () => {
    const { claims } = await aProducer();
    await complete();
    await setSeen(opened.redis, [claimOf('made')]);
    expect((await claims.lookUp([claimOf('made')]))[0]).toEqual({ state: 'free' });
  });

  it('has the customer of a dead letter that is replayed', async () => {
    const { claims } = await aProducer();
    const row = JSON.stringify(['7', '77', 1, 0, 'ext_1']);
    await createDeadLetters(opened.redis).park([
      {
        kind: 'customer',
        version: 1,
        row,
        error: 'refused',
        at: 0,
        jobId: '0190a0a0-0000-7000-8000-000000000000',
        index: 0,
      },
    ]);
    const { formatResourceId } = await import('@waymark/contract');
    const { customerClaim, historyKey } = await import('../../src/index.js');
    const workspaceId = formatResourceId('workspace', '7');
    await queue.admin.copy(HISTORY, historyKey('customers', workspaceId));
    await complete();
    await queue.admin.copy(HISTORY, historyKey('customers', workspaceId));
    const claim = customerClaim(workspaceId, 'ext_1');
    await waitFor(async () => 'isUnseen' in ((await claims.lookUp([claim]))[0] ?? {}), { what: 'a trusted history' });
    expect(await replayDeadLetters(opened.redis)).toBe(1);
    expect(await claims.lookUp([claim])).toEqual([{ state: 'free' }]);
  });
});

describe('a history is not trusted, and the commit of a new customer is refused,', () => {
  const cases: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['when its key is gone', () => queue.admin.del(HISTORY)],
    ['while it is filled', () => opened.history.begin(BITS * 2)],
    ['once a process has started that does not keep histories', () => queue.admin.hincrby(START_COUNTS_KEY, 'http', 1)],
    ['when it was filled in another server', () => queue.admin.setrange(HISTORY, '1|C|8192|'.length, 'another')],
  ];
  it.each(cases)('%s', async (_when, happen) => {
    const producer = await aProducer();
    await complete();
    await waitFor(async () => 'isUnseen' in ((await producer.claims.lookUp([claimOf('new')]))[0] ?? {}), {
      what: 'a trusted history',
    });
    await happen();
    expect(await producer.claims.lookUp([claimOf('new')])).toEqual([{ state: 'free' }]);
    await expect(producer.commit(aCustomerCommit('new', true))).rejects.toBeInstanceOf(ClaimHeldError);
  });

  it('after Redis was killed and started again, until it is filled again', async () => {
    const producer = await aProducer();
    await complete();
    await waitFor(async () => 'isUnseen' in ((await producer.claims.lookUp([claimOf('new')]))[0] ?? {}), {
      what: 'a trusted history',
    });
    await queue.redis.kill9();
    await queue.redis.restart();
    await waitFor(() => producer.claims.lookUp([claimOf('new')]), { what: 'the connection' });
    expect(await queue.admin.exists(HISTORY)).toBe(1);
    await waitFor(async () => (await opened.history.state()).state === 'missing', { what: 'the connection' });
    expect(await producer.claims.lookUp([claimOf('new')])).toEqual([{ state: 'free' }]);
  });

  it('but stays trusted when a process starts that keeps histories', async () => {
    const { claims } = await aProducer();
    await complete();
    await queue.admin.multi().hincrby(START_COUNTS_KEY, 'http', 1).incr(KEEPER_STARTS_KEY).exec();
    await waitFor(async () => 'isUnseen' in ((await claims.lookUp([claimOf('new')]))[0] ?? {}), {
      what: 'a trusted history',
    });
  });
});

describe('a filler', () => {
  it('is the only one, until its lease ends', async () => {
    const filling = await opened.history.begin(BITS);
    expect(filling).toBeDefined();
    expect(await opened.history.begin(BITS)).toBeUndefined();
    await filling?.stop();
    expect(await opened.history.begin(BITS)).toBeDefined();
  });

  it('cannot go on when the key was deleted, or another filler has begun anew', async () => {
    const first = await opened.history.begin(BITS);
    await queue.admin.del(HISTORY);
    expect(await first?.add([claimOf('a')])).toBe(false);
    expect(await first?.complete()).toBe(false);
    // Its lease has expired.
    await queue.admin.del(`${HISTORY}:filler`);
    const second = await opened.history.begin(BITS);
    expect(await first?.add([claimOf('a')])).toBe(false);
    expect(await first?.complete()).toBe(false);
    expect(await second?.add([claimOf('a')])).toBe(true);
    expect(await second?.complete()).toBe(true);
  });

  it('completes nothing when a process that does not keep histories has started meanwhile', async () => {
    const filling = await opened.history.begin(BITS);
    await queue.admin.hincrby(START_COUNTS_KEY, 'management', 1);
    expect(await filling?.complete()).toBe(false);
    expect((await opened.history.state()).state).toBe('missing');
  });
});

it('a history takes 10 to 20 bits a claim, and answers of unseen claims are seldom wrong', async () => {
  const { claims } = await aProducer();
  const customers = Array.from({ length: 800 }, (_none, number) => `old-${number}`);
  await complete(...customers);
  expect(await queue.admin.strlen(HISTORY)).toBe(128 + BITS / 8);
  await waitFor(async () => 'isUnseen' in ((await claims.lookUp([claimOf('new')]))[0] ?? {}), { what: 'trust' });
  const states = await claims.lookUp(Array.from({ length: 1000 }, (_none, number) => claimOf(`new-${number}`)));
  expect(states.filter((state) => !('isUnseen' in state)).length).toBeLessThan(50);
  const old = await claims.lookUp(customers.map(claimOf));
  expect(old.filter((state) => 'isUnseen' in state)).toEqual([]);
  expect(await opened.history.fullness(BITS)).toBeGreaterThan(0.25);
  expect(WORKSPACE).toBe('ws_1');
});
