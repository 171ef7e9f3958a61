import { describe, expect, it } from 'vitest';
import { type CacheBound, createTrackedCache, type TrackedCacheOptions } from '../src/index.js';

const TTL_MS = 1_000;

/** A cache of strings with a clock that the test sets, and reads that the test resolves one by one. */
function aCache(options: Partial<TrackedCacheOptions<string>> = {}) {
  let nowMs = 0;
  let isUsable = true;
  const reads: { answer(value: string): void; fail(err: Error): void }[] = [];
  const cache = createTrackedCache<string>({
    bound: { entriesMax: 10 },
    ttlMs: TTL_MS,
    isUsable: () => isUsable,
    now: () => nowMs,
    ...options,
  });
  return {
    cache,
    reads,
    read: () => new Promise<string>((answer, fail) => reads.push({ answer, fail })),
    pass: (ms: number) => {
      nowMs += ms;
    },
    setUsable: (usable: boolean) => {
      isUsable = usable;
    },
  };
}

const filled = async (bound: CacheBound<string>, ...values: string[]) => {
  const { cache } = aCache({ bound });
  for (const value of values) await cache.load(value, async () => value);
  return values.filter((value) => cache.get(value) !== undefined);
};

describe('a value', () => {
  it('is read again once the clock was set back to before its load', async () => {
    const { cache, pass } = aCache();
    pass(10 * TTL_MS);
    await cache.load('a', async () => 'old');
    pass(-5 * TTL_MS);
    expect(cache.get('a')).toBeUndefined();
    expect(await cache.load('a', async () => 'new')).toBe('new');
    expect(cache.get('a')).toBe('new');
  });

  it('is read once for all concurrent loads, and not again for later ones', async () => {
    const { cache, reads, read } = aCache();
    const loads = [cache.load('a', read), cache.load('a', read), cache.load('b', read)];
    for (const [index, { answer }] of reads.entries()) answer(`read ${index}`);
    expect(await Promise.all(loads)).toEqual(['read 0', 'read 0', 'read 1']);
    expect(await cache.load('a', read)).toBe('read 0');
    expect(cache.get('b')).toBe('read 1');
    expect(reads).toHaveLength(2);
  });

  it('may be undefined, which is cached too', async () => {
    const cache = createTrackedCache<undefined>({ bound: { entriesMax: 1 }, ttlMs: TTL_MS, now: () => 0 });
    let reads = 0;
    for (let time = 0; time < 2; time++) {
      await cache.load('a', async () => {
        reads += 1;
        return undefined;
      });
    }
    expect(reads).toBe(1);
  });

  it('is served until its TTL has passed, counted from the start of its load', async () => {
    const { cache, reads, read, pass } = aCache();
    const loading = cache.load('a', read);
    pass(400);
    reads[0]?.answer('old');
    await loading;
    pass(599);
    expect(cache.get('a')).toBe('old');
    pass(1);
    expect(cache.get('a')).toBeUndefined();
  });

  it('may have a TTL of its own', () => {
    const { cache, pass } = aCache({ ttlMs: (value) => (value === 'for ever' ? Number.POSITIVE_INFINITY : TTL_MS) });
    for (const value of ['for ever', 'short']) cache.set(value, value);
    pass(TTL_MS);
    expect(cache.get('for ever')).toBe('for ever');
    expect(cache.get('short')).toBeUndefined();
  });

  it('is read again for a caller with a lower maximum age, and not for others', async () => {
    const { cache, pass } = aCache();
    cache.set('a', 'first');
    pass(300);
    expect(await cache.load('a', async () => 'second')).toBe('first');
    expect(await cache.load('a', async () => 'second', 301)).toBe('first');
    expect(await cache.load('a', async () => 'second', 300)).toBe('second');
    expect(cache.get('a')).toBe('second');
  });

  it('of a load that began longer than the TTL ago is not shared', async () => {
    const { cache, reads, read, pass } = aCache();
    const first = cache.load('a', read);
    pass(TTL_MS);
    const second = cache.load('a', read);
    reads[0]?.answer('from before');
    expect(await first).toBe('from before');
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.answer('of now');
    expect(await second).toBe('of now');
  });

  it('is read once for all callers that waited for a load which began longer than the TTL ago', async () => {
    const { cache, reads, read, pass } = aCache();
    const first = cache.load('a', read);
    pass(TTL_MS);
    const late = [cache.load('a', read), cache.load('a', read), cache.load('a', read)];
    reads[0]?.answer('from before');
    await first;
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.answer('of now');
    expect(await Promise.all(late)).toEqual(['of now', 'of now', 'of now']);
    expect(reads).toHaveLength(2);
  });
});

describe('a load that began before an eviction', () => {
  it.each(['evict', 'clear', 'set'] as const)('is neither cached nor shared after %s', async (how) => {
    const { cache, reads, read } = aCache();
    const before = cache.load('a', read);
    cache[how]('a', 'set');
    const after = cache.load('a', read);
    reads[1]?.answer('new');
    expect(await after).toBe(how === 'set' ? 'set' : 'new');
    reads[0]?.answer('old');
    expect(await before).toBe('old');
    expect(cache.get('a')).toBe(await after);
  });

  it('is cached when the eviction was of another key', async () => {
    const { cache, reads, read } = aCache();
    const loading = cache.load('a', read);
    cache.evict('b');
    reads[0]?.answer('kept');
    await loading;
    expect(cache.get('a')).toBe('kept');
  });
});

describe('a read that fails', () => {
  it('fails for all callers that share it, and the next call reads again', async () => {
    const { cache, reads, read } = aCache();
    const loads = [cache.load('a', read), cache.load('a', read)];
    reads[0]?.fail(new Error('away'));
    for (const load of loads) await expect(load).rejects.toThrow('away');
    expect(await cache.load('a', async () => 'again')).toBe('again');
  });
});

describe('a refresh', () => {
  it('reads every time, shares no read, and caches the result', async () => {
    const { cache, reads, read } = aCache();
    const refreshes = [cache.refresh('a', read), cache.refresh('a', read)];
    const loading = cache.load('a', read);
    expect(reads).toHaveLength(3);
    for (const [index, { answer }] of reads.entries()) answer(`read ${index}`);
    expect(await Promise.all([...refreshes, loading])).toEqual(['read 0', 'read 1', 'read 2']);
    expect(cache.get('a')).toBe('read 2');
  });
});

describe('while evictions do not arrive', () => {
  it('nothing is served from the cache, and no read is shared', async () => {
    const { cache, reads, read, setUsable } = aCache();
    cache.set('a', 'cached');
    setUsable(false);
    expect(cache.get('a')).toBeUndefined();
    const loads = [cache.load('a', read), cache.load('a', read)];
    const refreshing = cache.refresh('a', read);
    for (const [index, { answer }] of reads.entries()) answer(`read ${index}`);
    expect(await Promise.all([...loads, refreshing])).toEqual(['read 0', 'read 1', 'read 2']);
    setUsable(true);
    expect(cache.get('a')).toBe('cached');
  });
});

describe('the bound', () => {
  it('limits the number of entries, or their total size, and evicts the least recently used', async () => {
    expect(await filled({ entriesMax: 2 }, 'a', 'b', 'c')).toEqual(['b', 'c']);
    const bySize = { sizeMax: 6, sizeOf: (value: string) => value.length };
    expect(await filled(bySize, 'aaa', 'bb', 'c', 'dd')).toEqual(['bb', 'c', 'dd']);
  });
});
