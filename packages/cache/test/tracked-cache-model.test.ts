import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTrackedCache } from '../src/index.js';

/*
 * A tracked cache over a store that changes, with random loads, failures, clocks and losses of the connection. The store says
 * what each answer must not be older than; nothing here repeats how the cache works.
 */

const TTL_MS = 100;
const KEYS = ['a', 'b', 'c', 'd', 'e'] as const;
const ENTRIES_MAX = 3;

/** What the store held when a read began. */
interface Snapshot {
  readonly key: string;
  readonly version: number;
  readonly startedMs: number;
}

interface PendingRead extends Snapshot {
  readonly isShareable: boolean;
  finish(outcome: 'succeed' | 'fail'): void;
}

/** `lapsed`: evictions still arrive, but the cache must not be used. `gap`: they do not arrive. */
type Connection = 'up' | 'lapsed' | 'gap';

const key = fc.constantFrom(...KEYS);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('load'), key, maxAgeMs: fc.option(fc.nat(TTL_MS), { nil: undefined }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('refresh'), key }) },
  {
    weight: 7,
    arbitrary: fc.record({ type: fc.constant('finish'), read: fc.nat(5), fails: fc.nat(3).map((of4) => of4 === 0) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('change'), key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('silent change'), key }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('set'), key }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('pass'), ms: fc.integer({ min: 1, max: TTL_MS }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('connection'), to: fc.constantFrom<Connection>('up', 'lapsed', 'gap') }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class World {
  #nowMs = 0;
  #connection: Connection = 'up';
  #reads: PendingRead[] = [];
  #readsBegun = 0;
  readonly #versions = new Map<string, number>();
  /** By key, the version that the last eviction announced. */
  readonly #announced = new Map<string, number>();
  readonly #answers: Promise<void>[] = [];
  readonly #cache = createTrackedCache<Snapshot>({
    bound: { entriesMax: ENTRIES_MAX },
    ttlMs: TTL_MS,
    isUsable: () => this.#connection === 'up',
    now: () => this.#nowMs,
  });

  #snapshot(of: string): Snapshot {
    return { key: of, version: this.#versions.get(of) ?? 0, startedMs: this.#nowMs };
  }

  #stopSharing(isMeant: (read: PendingRead) => boolean): void {
    this.#reads = this.#reads.map((read) => (isMeant(read) ? { ...read, isShareable: false } : read));
  }

  #read(of: string, isShareable: boolean): Promise<Snapshot> {
    this.#readsBegun += 1;
    const snapshot = this.#snapshot(of);
    // Only the latest read of a key is shared.
    this.#stopSharing((read) => read.key === of);
    return new Promise((resolve, reject) => {
      const finish = (outcome: 'succeed' | 'fail') =>
        outcome === 'fail' ? reject(new Error('the store is away')) : resolve(snapshot);
      this.#reads.push({ ...snapshot, isShareable, finish });
    });
  }

  /** An answer is of its key, not from before a change that was announced before the call, and not older than may be. */
  #check(answer: Snapshot, of: string, version: number, atMs: number, maxAgeMs = TTL_MS): void {
    expect(answer.key).toBe(of);
    expect(answer.version).toBeGreaterThanOrEqual(version);
    expect(atMs - answer.startedMs).toBeLessThan(Math.max(1, Math.min(maxAgeMs, TTL_MS)));
  }

  /** What a call that comes now may at least expect. */
  #leastVersion(of: string): number {
    // Without a connection every caller reads the store.
    return (this.#connection === 'up' ? this.#announced.get(of) : this.#versions.get(of)) ?? 0;
  }

  #call(of: string, maxAgeMs: number | undefined, answer: () => Promise<Snapshot>): void {
    const [version, atMs] = [this.#leastVersion(of), this.#nowMs];
    this.#answers.push(
      answer().then(
        (snapshot) => this.#check(snapshot, of, version, atMs, maxAgeMs),
        (err: Error) => expect(err.message).toBe('the store is away'),
      ),
    );
  }

  #load(of: string, maxAgeMs = TTL_MS): void {
    const before = this.#readsBegun;
    const latest = this.#reads.findLast((read) => read.key === of);
    const isShared =
      this.#connection === 'up' &&
      latest?.isShareable === true &&
      latest.version >= (this.#announced.get(of) ?? 0) &&
      this.#nowMs - latest.startedMs < Math.min(maxAgeMs, TTL_MS);
    this.#call(of, maxAgeMs, () => this.#cache.load(of, () => this.#read(of, this.#connection === 'up'), maxAgeMs));
    if (isShared) expect(this.#readsBegun).toBe(before);
  }

  #change(of: string, isAnnounced: boolean): void {
    this.#versions.set(of, (this.#versions.get(of) ?? 0) + 1);
    if (!isAnnounced || this.#connection === 'gap') return;
    this.#announced.set(of, this.#versions.get(of) ?? 0);
    this.#cache.evict(of);
  }

  #connect(to: Connection): void {
    const isGapOver = this.#connection === 'gap' && to !== 'gap';
    this.#connection = to;
    if (!isGapOver) return;
    this.#cache.clear();
    this.#stopSharing(() => true);
    for (const [of, version] of this.#versions) this.#announced.set(of, version);
  }

  do(step: Step): void {
    if (step.type === 'load') this.#load(step.key, step.maxAgeMs);
    else if (step.type === 'refresh')
      this.#call(step.key, undefined, () => this.#cache.refresh(step.key, () => this.#read(step.key, false)));
    else if (step.type === 'finish') {
      const [read] = this.#reads.splice(step.read % Math.max(1, this.#reads.length), 1);
      read?.finish(step.fails ? 'fail' : 'succeed');
    } else if (step.type === 'pass') this.#nowMs += step.ms;
    else if (step.type === 'connection') this.#connect(step.to);
    else if (step.type === 'set') {
      // A writer caches what it has written.
      this.#change(step.key, false);
      this.#announced.set(step.key, this.#versions.get(step.key) ?? 0);
      this.#cache.set(step.key, this.#snapshot(step.key));
    } else this.#change(step.key, step.type === 'change');
  }

  /** What is cached at any time may be answered at that time, and there is never more of it than the bound. */
  checkCached(): void {
    const cached = KEYS.flatMap((of) => {
      const answer = this.#cache.get(of);
      if (answer !== undefined) this.#check(answer, of, this.#leastVersion(of), this.#nowMs);
      return answer ?? [];
    });
    expect(cached.length).toBeLessThanOrEqual(this.#connection === 'up' ? ENTRIES_MAX : 0);
  }

  /** Every call is answered once the reads are. */
  async finish(): Promise<void> {
    for (const { finish } of this.#reads.splice(0)) finish('succeed');
    await turn();
    for (const { finish } of this.#reads.splice(0)) finish('succeed');
    await Promise.all(this.#answers);
  }
}

it('never answers from before an eviction, nor beyond the TTL or the bound, and reads once for all who call together', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80 }), async (steps) => {
      const world = new World();
      for (const one of steps) {
        world.do(one as Step);
        await turn();
        world.checkCached();
      }
      await world.finish();
    }),
    { numRuns: 500 },
  );
});
