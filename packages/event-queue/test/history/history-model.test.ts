import { waitFor } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ClaimHeldError, type EventProducer, type HistorySource, START_COUNTS_KEY, setSeen } from '../../src/index.js';
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

// Whatever is done in whatever order: a customer that a history shows to be new exists nowhere.

const CUSTOMERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const PAGE = 3;
const RUNS = 40;
const STEPS_MAX = 40;

let queue: QueueFixture;
let opened: Awaited<ReturnType<typeof openHistory>>;
beforeAll(async () => {
  queue = await startQueueFixture();
});
afterAll(() => queue.stop());

/** Everything that exists, and the hands that make it. */
class World {
  /** Customers that exist: in the queue or in ClickHouse. */
  readonly exist = new Set<string>();
  readonly clickhouse = new Set<string>();
  /** Customers whose name is set in the history and not inserted yet. */
  readonly onTheirWay: string[] = [];
  /** Fillers that wait for a page of ClickHouse. */
  readonly pages: (() => void)[] = [];
  nowMs = Date.now();
  keepers: TestKeeper[] = [];
  found = 0;

  constructor(readonly producer: EventProducer) {}

  readonly source: HistorySource = {
    count: async () => this.clickhouse.size,
    read: () => this.#read(),
  };

  async *#read(): AsyncIterable<readonly string[]> {
    for (let after = ''; ; ) {
      await new Promise<void>((resolve) => this.pages.push(resolve));
      const page = [...this.clickhouse]
        .sort()
        .filter((name) => name > after)
        .slice(0, PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page.map(claimOf);
      after = last;
    }
  }

  async addKeeper(): Promise<void> {
    this.keepers.push(await aKeeper(queue.redis.url, this.source, () => this.nowMs));
  }

  /** A lead: of a new customer if the history, or else ClickHouse and the queue, have none of that name. */
  async track(customer: string): Promise<void> {
    const [claim] = await this.producer.claims.lookUp([claimOf(customer)]);
    if (claim?.state !== 'free') return;
    const isUnseen = claim.isUnseen === true;
    if (isUnseen) {
      this.found += 1;
      expect(this.exist.has(customer), `${customer} exists`).toBe(false);
    } else if (this.exist.has(customer)) return;
    try {
      await this.producer.commit(aCustomerCommit(customer, isUnseen));
    } catch (err) {
      // A filler has begun since the look-up.
      if (err instanceof ClaimHeldError) return;
      throw err;
    }
    expect(this.exist.has(customer), `${customer} exists`).toBe(false);
    this.exist.add(customer);
  }

  /** The first half of a creation by management, which holds the claim. */
  async beginCreation(customer: string): Promise<void> {
    if (this.exist.has(customer) || this.onTheirWay.includes(customer)) return;
    if ((await queue.admin.set(claimKey(claimOf(customer)), 'p:management', 'NX')) === null) return;
    await setSeen(queue.admin, [claimOf(customer)]);
    this.onTheirWay.push(customer);
  }

  async endCreation(): Promise<void> {
    const customer = this.onTheirWay.shift();
    if (customer === undefined) return;
    this.exist.add(customer);
    this.clickhouse.add(customer);
    await queue.admin.set(claimKey(claimOf(customer)), `f:${customer}`);
  }

  /** The writer: everything that is queued is in ClickHouse. */
  async write(): Promise<void> {
    for (const { rows, progress } of await queue.queued('customer')) {
      const discarded: number[] = progress?.startsWith('{') ? JSON.parse(progress).struck : [];
      for (const [index, row] of rows.entries()) if (!discarded.includes(index)) this.clickhouse.add(String(row[0]));
    }
    await queue.admin.del(queueKey('customer', 'wait'));
  }

  /** Claims expire, or are removed with a change of the customer. */
  async expireClaims(): Promise<void> {
    for (const customer of CUSTOMERS) {
      const key = claimKey(claimOf(customer));
      if ((await queue.admin.get(key))?.startsWith('f:')) await queue.admin.del(key);
    }
  }

  /** A process of a release before histories starts, makes a customer, and ends. */
  async makeElsewhere(customer: string): Promise<void> {
    await queue.admin.hincrby(START_COUNTS_KEY, 'management', 1);
    if (this.onTheirWay.includes(customer)) return;
    this.exist.add(customer);
    this.clickhouse.add(customer);
  }

  /** Time passes; creations under way end within it, because their locks do. */
  async passGrace(): Promise<void> {
    while (this.onTheirWay.length > 0) await this.endCreation();
    this.nowMs += GRACE_MS;
  }

  note(keeper: number): void {
    this.nowMs += 10_000;
    this.keepers[keeper % this.keepers.length]?.keeper.note('customers', WORKSPACE);
  }

  async killKeeper(): Promise<void> {
    const killed = this.keepers.shift();
    for (const next of this.pages.splice(0)) next();
    await killed?.kill();
    // Its lease ends.
    await queue.admin.del(`${HISTORY}:filler`);
    await this.addKeeper();
  }

  /** Nothing is in the way of a filler until the history is complete. */
  async fill(): Promise<void> {
    await this.passGrace();
    await this.write();
    const isTrusted = async () => {
      this.note(0);
      this.nowMs += GRACE_MS;
      for (const next of this.pages.splice(0)) next();
      return (await opened.history.state()).state === 'trusted';
    };
    await waitFor(isTrusted, { what: 'a complete history' });
  }
}

const customer = fc.constantFrom(...CUSTOMERS);
type Step = readonly [what: string, run: (world: World) => unknown];
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: customer.map((name): Step => [`track ${name}`, (world) => world.track(name)]) },
  {
    weight: 3,
    arbitrary: customer.map((name): Step => [`begin creation ${name}`, (world) => world.beginCreation(name)]),
  },
  { weight: 3, arbitrary: fc.constant<Step>(['end creation', (world) => world.endCreation()]) },
  { weight: 2, arbitrary: fc.constant<Step>(['write', (world) => world.write()]) },
  { weight: 3, arbitrary: fc.constant<Step>(['expire claims', (world) => world.expireClaims()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['delete the history', () => queue.admin.del(HISTORY)]) },
  { weight: 3, arbitrary: fc.nat(1).map((one): Step => [`note ${one}`, (world) => world.note(one)]) },
  { weight: 2, arbitrary: fc.constant<Step>(['pass the grace', (world) => world.passGrace()]) },
  { weight: 4, arbitrary: fc.constant<Step>(['a page', (world) => world.pages.shift()?.()]) },
  { weight: 2, arbitrary: fc.constant<Step>(['fill', (world) => world.fill()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['kill a filler', (world) => world.killKeeper()]) },
  { weight: 1, arbitrary: customer.map((name): Step => [`elsewhere ${name}`, (world) => world.makeElsewhere(name)]) },
);
const runs = fc.array(
  steps.map((step) => Object.assign(step, { [fc.toStringMethod]: () => step[0] })),
  { minLength: 10, maxLength: STEPS_MAX },
);

it('a customer that a history shows to be new exists nowhere, in any order of commits, creations, fillers and losses', async () => {
  let found = 0;
  const property = fc.asyncProperty(runs, async (run) => {
    const world = new World(await queue.aProducer());
    opened = await openHistory(queue.redis.url);
    await world.addKeeper();
    await world.addKeeper();
    try {
      for (const [, step] of run) await step(world);
    } finally {
      found += world.found;
      await queue.admin.del(HISTORY);
      for (const next of world.pages.splice(0)) next();
      await Promise.all(world.keepers.map((keeper) => keeper.kill()));
      opened.redis.disconnect();
      await queue.reset();
    }
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
  expect(found).toBeGreaterThan(0);
});
