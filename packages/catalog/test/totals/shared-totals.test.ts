import { randomUUID } from 'node:crypto';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCacheMemory } from '../../src/redis/cache-memory.js';
import { openConnections, type RedisConnections } from '../../src/redis/connections.js';
import { createSharedTotals, type SharedTotals } from '../../src/redis/shared-totals.js';

let server: TestRedis;
let client: Redis;
const opened: RedisConnections[] = [];
const processes: SharedTotals[] = [];

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
  client.on('error', () => undefined);
});
afterAll(async () => {
  for (const process of processes) process.close();
  for (const connections of opened) connections.close();
  client.disconnect();
  await server.stop();
});

/** The shared totals as another process has them. @param run runs its evictions; by default at once */
async function aProcess(run?: (command: () => Promise<unknown>) => Promise<unknown>): Promise<SharedTotals> {
  const own = openConnections(client, 0, { warn: () => undefined });
  opened.push(own);
  await waitFor(async () => (await own.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
  const runOwn: RedisConnections['run'] = (command) =>
    run === undefined ? own.run(command) : (run(() => own.run(command)) as ReturnType<typeof command>);
  const connections = { ...own, run: runOwn };
  const process = createSharedTotals(connections, createCacheMemory(connections), { warn: () => undefined });
  processes.push(process);
  return process;
}

/** A process that has made up for the evictions of processes before it. */
async function aWriter(): Promise<SharedTotals> {
  const writer = await aProcess();
  await writer.evictAll();
  return writer;
}

/** A workspace whose totals are counted here, in the place of ClickHouse. */
function aWorkspace() {
  const workspaceId = `ws_${randomUUID()}`;
  const totals = new Map<string, number>();
  const reads: (readonly string[])[] = [];
  const readTexts = async (ids: readonly string[]) => {
    reads.push(ids);
    return new Map(ids.flatMap((id) => (totals.has(id) ? [[id, String(totals.get(id))] as const] : [])));
  };
  return {
    workspaceId,
    reads,
    count: (id: string) => void totals.set(id, (totals.get(id) ?? 0) + 1),
    current: (ids: readonly string[]) =>
      new Map(ids.flatMap((id) => (totals.has(id) ? [[id, String(totals.get(id))]] : []))),
    read: (process: SharedTotals, ids: readonly string[]) => process.read(workspaceId, ids, readTexts),
    evicted: (ids: readonly string[]) => [{ workspaceId, ids: [...ids] }],
    /** Resolves once Redis has the totals. */
    stored: (process: SharedTotals, ids: readonly string[]) =>
      waitFor(
        async () => {
          let isComplete = true;
          await process.read(workspaceId, ids, async (missing) => {
            isComplete = false;
            return readTexts(missing);
          });
          return isComplete;
        },
        { what: 'the totals to be stored' },
      ),
    /** A read that has left Redis, and waits until it is opened before or after it reads the counts. */
    startRead(process: SharedTotals, ids: readonly string[]) {
      let open = () => {};
      let begin = () => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const result = process.read(workspaceId, ids, async (missing) => {
        const found = await readTexts(missing);
        begin();
        await gate;
        return found;
      });
      return { begun, open, result };
    },
  };
}

type Reading = ReturnType<ReturnType<typeof aWorkspace>['startRead']>;

/** A read that has left Redis, or has found everything there. */
async function begun(reading: Reading): Promise<Reading> {
  await Promise.race([reading.begun, reading.result]);
  return reading;
}

async function finish(readings: readonly Reading[]): Promise<void> {
  for (const { open, result } of readings) {
    open();
    await result;
  }
}

describe('shared totals', () => {
  it('are read by the first process only, those of ids without events included', async () => {
    const [one, other] = [await aWriter(), await aProcess()];
    const { read, reads, count, stored } = aWorkspace();
    count('a');
    expect(await read(one, ['a', 'none'])).toEqual(new Map([['a', '1']]));
    await stored(one, ['a', 'none']);
    const before = reads.length;
    expect(await read(other, ['none', 'a'])).toEqual(new Map([['a', '1']]));
    expect(reads).toHaveLength(before);
    await read(other, ['a', 'b']);
    expect(reads.slice(before)).toEqual([['b']]);
  });

  it('are read again after their eviction, in their workspace only', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const workspace of [one, other]) {
      workspace.count('a');
      await workspace.stored(reader, ['a', 'b']);
    }
    one.count('a');
    await writer.evict('insert', one.evicted(['a']));
    const before = [one.reads.length, other.reads.length] as const;
    expect(await one.read(reader, ['a', 'b'])).toEqual(new Map([['a', '2']]));
    expect(await other.read(reader, ['a', 'b'])).toEqual(new Map([['a', '1']]));
    expect([one.reads.slice(before[0]), other.reads.slice(before[1])]).toEqual([[['a']], []]);
  });

  it('whose read began before an eviction are not stored', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { startRead, count, read, evicted } = aWorkspace();
    const reading = startRead(reader, ['a']);
    await reading.begun;
    count('a');
    await writer.evict('insert', evicted(['a']));
    // A read after the eviction stores its totals, and the one before it does not replace them.
    const after = startRead(reader, ['a']);
    await after.begun;
    for (const { open, result } of [reading, after]) {
      open();
      await result;
      expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    }
  });

  it('whose read began before all were evicted are not stored', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { startRead, count, read } = aWorkspace();
    const reading = startRead(reader, ['a']);
    await reading.begun;
    count('a');
    await writer.evictAll();
    reading.open();
    await reading.result;
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
  });

  it('are all read again once a writer starts, because one before it may have been killed before it evicted', async () => {
    const reader = await aProcess();
    const { count, read, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map());
    const next = await aProcess();
    await next.evict('insert', evicted(['other']));
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
  });

  it('are all read again when a writer may have lost evictions with its connection', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { count, read, stored } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    reader.onGap();
    expect(await read(reader, ['a'])).toEqual(new Map());
    writer.onGap();
    await waitFor(async () => (await read(reader, ['a'])).get('a') === '1', { what: 'all totals to be evicted' });
  });

  it('are all read again when the evictions of an insert failed', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { count, read, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    // Longer than a writer waits for an answer.
    await client.call('CLIENT', 'PAUSE', '3000', 'WRITE');
    await writer.evict('insert', evicted(['a']));
    count('a');
    await writer.evict('insert', evicted(['a']));
    await waitFor(async () => (await read(reader, ['a'])).get('a') === '2', {
      what: 'all totals to be evicted',
    });
  });

  it('are read again after an insert that is evicted while those before it are being made up for', async () => {
    const answers: (() => void)[] = [];
    let outcome: 'answer' | 'fail' | 'hold' = 'answer';
    const writer = await aProcess(async (command) => {
      if (outcome === 'fail') throw new Error('Redis is away');
      await command();
      if (outcome !== 'hold') return;
      outcome = 'answer';
      await new Promise<void>((resolve) => answers.push(resolve));
    });
    await writer.evictAll();
    const reader = await aProcess();
    const { count, read, stored, evicted } = aWorkspace();
    outcome = 'fail';
    await writer.evict('insert', evicted(['a']));
    outcome = 'hold';
    await waitFor(() => answers.length === 1, { what: 'the next generation, whose answer is on the way' });
    await stored(reader, ['a']);
    count('a');
    await writer.evict('insert', evicted(['a']));
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    answers[0]?.();
  });

  it('are not stored before a writer that evicts has started, and again once it inserts into an emptied Redis', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { workspaceId, count, read, stored, evicted } = aWorkspace();
    await client.flushdb();
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    expect(await client.keys(`*${workspaceId}*`)).toEqual([]);
    await writer.evict('insert', evicted(['b']));
    await stored(reader, ['a']);
  });

  it('are read from ClickHouse from the start of an insert to its eviction, or for a minute if that never comes', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { workspaceId, count, read, reads, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    await writer.mark('insert', evicted(['a']));
    count('a');
    for (const number of [1, 2]) {
      const before = reads.length;
      expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
      expect([number, reads.slice(before)]).toEqual([number, [['a']]]);
    }
    const [key = ''] = await client.keys(`*${workspaceId}*`);
    const leftMs = await client.pttl(key);
    expect([leftMs > 0, leftMs <= 60_000]).toEqual([true, true]);
    await writer.evict('insert', evicted(['a']));
    await stored(reader, ['a']);
  });

  it('are stored again when the last of several inserts is evicted, however often each began', async () => {
    const [writer, other, reader] = [await aWriter(), await aWriter(), await aProcess()];
    const { count, read, reads, stored, evicted } = aWorkspace();
    await writer.mark('first', evicted(['a', 'b']));
    await other.mark('second', evicted(['b', 'a']));
    await writer.mark('first', evicted(['a', 'b']));
    await other.mark('third', evicted(['b']));
    for (const token of ['first', 'third']) {
      count('a');
      await writer.evict(token, evicted(token === 'third' ? ['b'] : ['a', 'b']));
      await read(reader, ['a']);
      const before = reads.length;
      await read(reader, ['a']);
      expect(reads.slice(before)).toEqual([['a']]);
    }
    await other.evict('second', evicted(['a', 'b']));
    await stored(reader, ['a', 'b']);
  });

  it('are evicted from a full Redis', async () => {
    const [writer, reader] = [await aWriter(), await aProcess()];
    const { count, read, stored, evicted } = aWorkspace();
    await stored(reader, ['a', 'b', 'c']);
    await writer.mark('under way', evicted(['c']));
    await client.config('SET', 'maxmemory', '1');
    try {
      for (const id of ['a', 'b', 'c']) {
        await writer.mark(id, evicted([id]));
        count(id);
        await writer.evict(id, evicted([id]));
        expect((await read(reader, [id])).get(id)).toBe('1');
      }
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
  });

  it('are never older than an insert that was marked', async () => {
    const [writers, readers] = [
      [await aWriter(), await aWriter()] as const,
      [await aProcess(), await aProcess()] as const,
    ];
    const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('start' as const), ids, process: fc.nat(1) }),
      fc.record({ do: fc.constant('finish' as const), which: fc.nat() }),
      fc.record({ do: fc.constant('insert' as const), ids, process: fc.nat(1) }),
      fc.record({ do: fc.constant('evict' as const), which: fc.nat() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const { count, current, read, startRead, evicted } = aWorkspace();
        const reading: Reading[] = [];
        const inserts: { readonly token: string; readonly ids: readonly string[] }[] = [];
        for (const one of steps) {
          if (one.do === 'start') {
            reading.push(await begun(startRead(readers[one.process] ?? readers[0], one.ids)));
          } else if (one.do === 'finish') {
            await finish(reading.splice(one.which % Math.max(1, reading.length), 1));
          } else if (one.do === 'insert') {
            const token = randomUUID();
            await (writers[one.process] ?? writers[0]).mark(token, evicted(one.ids));
            for (const id of one.ids) count(id);
            inserts.push({ token, ids: one.ids });
          } else {
            const [ended] = inserts.splice(one.which % Math.max(1, inserts.length), 1);
            if (ended !== undefined) await writers[0].evict(ended.token, evicted(ended.ids));
          }
          for (const reader of readers) expect(await read(reader, ['a', 'b', 'c'])).toEqual(current(['a', 'b', 'c']));
        }
        await finish(reading);
      }),
      { numRuns: 100 },
    );
  });

  it('are read from ClickHouse while Redis is away', async () => {
    const { count, read } = aWorkspace();
    const reader = await aProcess();
    opened.at(-1)?.close();
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
  });

  it('are stored under a lease that expires, and expire within ten minutes', async () => {
    const reader = await aProcess();
    const { workspaceId, startRead, stored } = aWorkspace();
    const key = `waymark:cache:{${workspaceId}}:totals:a`;
    const reading = startRead(reader, ['a']);
    await reading.begun;
    expect(await client.pttl(key)).toBeGreaterThan(0);
    expect(await client.pttl(key)).toBeLessThanOrEqual(5_000);
    reading.open();
    await stored(reader, ['a']);
    expect(await client.pttl(key)).toBeGreaterThan(5_000);
    expect(await client.pttl(key)).toBeLessThanOrEqual(600_000);
  });

  it('include every insert that was evicted before the read began, for any order of reads, inserts, evictions and lost entries', async () => {
    const writers = [await aWriter(), await aWriter()] as const;
    const readers = [await aProcess(), await aProcess()] as const;
    const ID = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('start' as const),
          ids: fc.uniqueArray(ID, { minLength: 1 }),
          process: fc.nat(1),
        }),
      },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), which: fc.nat() }) },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('insert' as const), ids: fc.uniqueArray(ID, { minLength: 1 }) }),
      },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('evict' as const), process: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('evictAll' as const), process: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const { count, current, read, startRead, evicted } = aWorkspace();
        const reading: Reading[] = [];
        let inserted = new Set<string>();
        for (const one of steps) {
          if (one.do === 'start') {
            reading.push(await begun(startRead(readers[one.process] ?? readers[0], one.ids)));
          } else if (one.do === 'finish') {
            await finish(reading.splice(one.which % Math.max(1, reading.length), 1));
          } else if (one.do === 'insert') {
            for (const id of one.ids) {
              count(id);
              inserted.add(id);
            }
          } else if (one.do === 'flush') await client.flushdb();
          else {
            const writer = writers[one.process] ?? writers[0];
            if (one.do === 'evict') await writer.evict('insert', evicted([...inserted]));
            else await writer.evictAll();
            inserted = new Set();
            const ids = ['a', 'b', 'c'];
            for (const reader of readers) expect(await read(reader, ids)).toEqual(current(ids));
          }
        }
        await finish(reading);
      }),
      { numRuns: 200 },
    );
  });
});
