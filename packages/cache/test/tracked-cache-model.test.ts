import { setImmediate as immediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTrackedCache } from '../src/index.js';

/*
 * Runs a tracked cache over a changing store, with random loads, failures, clock steps and lost connections. The expected minimum
 * version of each answer comes from the store alone; the model does not repeat the logic of the cache.
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

/** `lapsed`: evictions still arrive, but the cache must not be used. `gap`: evictions do not arrive. */
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
  /** By key, the version that the last received eviction was for. */
  readonly #evictedAt = new Map<string, number>();
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

  #stopSharing(matches: (read: PendingRead) => boolean): void {
    this.#reads = this.#reads.map((read) => (matches(read) ? { ...read, isShareable: false } : read));
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

  /** Checks that an answer has the right key, no version from before an eviction that preceded the call, and at most the allowed age. */
  #check(answer: Snapshot, of: string, version: number, atMs: number, maxAgeMs = TTL_MS): void {
    expect(answer.key).toBe(of);
    expect(answer.version).toBeGreaterThanOrEqual(version);
    expect(atMs - answer.startedMs).toBeLessThan(Math.max(1, Math.min(maxAgeMs, TTL_MS)));
  }

  /** The lowest version that a call made now may return. */
  #leastVersion(of: string): number {
    // Without a connection every call reads the store.
    return (this.#connection === 'up' ? this.#evictedAt.get(of) : this.#versions.get(of)) ?? 0;
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
      latest.version >= (this.#evictedAt.get(of) ?? 0) &&
      this.#nowMs - latest.startedMs < Math.min(maxAgeMs, TTL_MS);
    this.#call(of, maxAgeMs, () => this.#cache.load(of, () => this.#read(of, this.#connection === 'up'), maxAgeMs));
    if (isShared) expect(this.#readsBegun).toBe(before);
  }

  #change(of: string, isEvicted: boolean): void {
    this.#versions.set(of, (this.#versions.get(of) ?? 0) + 1);
    if (!isEvicted || this.#connection === 'gap') return;
    this.#evictedAt.set(of, this.#versions.get(of) ?? 0);
    this.#cache.evict(of);
  }

  #connect(to: Connection): void {
    const isGapOver = this.#connection === 'gap' && to !== 'gap';
    this.#connection = to;
    if (!isGapOver) return;
    this.#cache.clear();
    this.#stopSharing(() => true);
    for (const [of, version] of this.#versions) this.#evictedAt.set(of, version);
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
      this.#evictedAt.set(step.key, this.#versions.get(step.key) ?? 0);
      this.#cache.set(step.key, this.#snapshot(step.key));
    } else this.#change(step.key, step.type === 'change');
  }

  /** Checks that every cached value may be served now, and that the cache is within its bound. */
  checkCached(): void {
    const cached = KEYS.flatMap((of) => {
      const answer = this.#cache.get(of);
      if (answer !== undefined) this.#check(answer, of, this.#leastVersion(of), this.#nowMs);
      return answer ?? [];
    });
    expect(cached.length).toBeLessThanOrEqual(this.#connection === 'up' ? ENTRIES_MAX : 0);
  }

  /** Resolves all reads, then checks that every call has an answer. */
  async finish(): Promise<void> {
    for (const { finish } of this.#reads.splice(0)) finish('succeed');
    await immediate();
    for (const { finish } of this.#reads.splice(0)) finish('succeed');
    await Promise.all(this.#answers);
  }
}

it('never serves a value from before an eviction or beyond the TTL or bound, and concurrent loads share one read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80 }), async (steps) => {
      const world = new World();
      for (const one of steps) {
        world.do(one as Step);
        await immediate();
        world.checkCached();
      }
      await world.finish();
    }),
    { numRuns: 500 },
  );
});
