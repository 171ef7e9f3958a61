import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EventProducer, INSTANCES_KEY, setSeen } from '../../src/index.js';
import { claimKey, queueKey } from '../../src/queue/keys.js';
import { type QueueFixture, startQueueFixture } from '../queue-fixture.js';
import {
  aCustomerCommit,
  aKeeper,
  claimOf,
  GRACE_MS,
  HISTORY,
  openHistory,
  type TestKeeper,
  WORKSPACE,
} from './history-fixture.js';

const BITS_MIN = 2 ** 17;
let queue: QueueFixture;
let opened: Awaited<ReturnType<typeof openHistory>>;
let producer: EventProducer;
let keeper: TestKeeper;
/** What ClickHouse has. */
let written: Set<string>;
let nowMs: number;
/** How often the keeper has read its clock, which it does each time it looks whether it may go on. */
let looks: number;
let reads: number;

const source = {
  count: async () => written.size,
  async *read() {
    reads += 1;
    yield [...written].map(claimOf);
  },
};
const now = () => {
  looks += 1;
  return nowMs;
};

beforeAll(async () => {
  queue = await startQueueFixture();
});
beforeEach(async () => {
  written = new Set(['old']);
  nowMs = Date.now();
  looks = 0;
  reads = 0;
  producer = await queue.aProducer();
  opened = await openHistory(queue.redis.url);
  keeper = await aKeeper(queue.redis.url, source, now);
});
afterEach(async () => {
  await keeper.kill();
  opened.redis.disconnect();
  await queue.admin.config('SET', 'maxmemory', '0');
  await queue.reset();
});
afterAll(() => queue.stop());

const note = (on = keeper) => on.keeper.note('customers', WORKSPACE);
const stateOf = async () => (await opened.history.state()).state;
const begun = () => waitFor(async () => (await stateOf()) === 'filling', { what: 'a filler' });
const trusted = () => waitFor(async () => (await stateOf()) === 'trusted', { what: 'a complete history' });
async function hasLooked(times: number): Promise<void> {
  const before = looks;
  await waitFor(() => looks > before + times, { what: 'the keeper to look' });
}
const isUnseen = async (customer: string) =>
  'isUnseen' in ((await producer.claims.lookUp([claimOf(customer)]))[0] ?? {});

describe('a history has', () => {
  it('customers whose creation set their name before it existed, and inserted it later', async () => {
    await setSeen(queue.admin, [claimOf('on its way')]);
    note();
    await begun();
    nowMs += GRACE_MS - 1;
    await hasLooked(20);
    expect(reads).toBe(0);
    written.add('on its way');
    nowMs += 1;
    await trusted();
    await waitFor(() => isUnseen('new'), { what: 'trust' });
    expect([await isUnseen('on its way'), await isUnseen('old')]).toEqual([false, false]);
  });

  it('customers that were queued before it existed, however long the writer is away', async () => {
    await producer.commit(aCustomerCommit('queued', false));
    await queue.admin.del(claimKey(claimOf('queued')));
    note();
    await begun();
    nowMs += 10 * GRACE_MS;
    await hasLooked(20);
    expect(reads).toBe(0);
    written.add('queued');
    await queue.admin.del(queueKey('customer', 'wait'));
    await trusted();
    await waitFor(() => isUnseen('new'), { what: 'trust' });
    expect(await isUnseen('queued')).toBe(false);
  });

  it('customers that are made while it is filled', async () => {
    note();
    await begun();
    await setSeen(queue.admin, [claimOf('made')]);
    await producer.commit(aCustomerCommit('tracked', false));
    await queue.admin.del(claimKey(claimOf('tracked')), queueKey('customer', 'wait'));
    nowMs += GRACE_MS;
    await trusted();
    await waitFor(() => isUnseen('new'), { what: 'trust' });
    expect([await isUnseen('made'), await isUnseen('tracked')]).toEqual([false, false]);
  });
});

it('a filler that was killed is followed by another one when its lease ends', async () => {
  note();
  await begun();
  const next = await aKeeper(queue.redis.url, source, now);
  try {
    await keeper.kill();
    expect(await queue.admin.pttl(`${HISTORY}:filler`)).toBeGreaterThan(0);
    expect(await queue.admin.pexpire(`${HISTORY}:filler`, 1)).toBe(1);
    await waitFor(
      () => {
        nowMs += 10_000;
        note(next);
        return stateOf().then((state) => state === 'trusted');
      },
      { what: 'the next filler' },
    );
  } finally {
    await next.kill();
  }
});

it('a history that has become too full is made anew, larger', async () => {
  written = new Set(Array.from({ length: 400 }, (_none, number) => `old-${number}`));
  note();
  await begun();
  nowMs += GRACE_MS;
  await trusted();
  expect((await opened.history.state()).bits).toBe(BITS_MIN);
  const more = Array.from({ length: 25_000 }, (_none, number) => `more-${number}`);
  await setSeen(queue.admin, more.map(claimOf));
  for (const customer of more) written.add(customer);
  await waitFor(
    () => {
      nowMs += GRACE_MS;
      note();
      return opened.history.state().then(({ state, bits }) => state === 'trusted' && bits > BITS_MIN);
    },
    { what: 'a larger history' },
  );
  expect(await isUnseen('more-7')).toBe(false);
});

describe('no history is filled', () => {
  it('while a process is registered that does not keep histories', async () => {
    await queue.admin.hset(INSTANCES_KEY, 'http:old', '{"service":"http"}');
    note();
    await keeper.keeper.close();
    expect(await queue.admin.exists(HISTORY)).toBe(0);
  });

  it('above 60 % of the memory of Redis', async () => {
    await queue.admin.config('SET', 'maxmemory', '1mb');
    note();
    await keeper.keeper.close();
    expect(await queue.admin.exists(HISTORY)).toBe(0);
  });
});
