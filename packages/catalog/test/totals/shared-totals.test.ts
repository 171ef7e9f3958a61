import { waitFor } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aWorkspace, createReadings, startTotals } from './totals-processes.js';

let totals: Awaited<ReturnType<typeof startTotals>>;
beforeAll(async () => {
  totals = await startTotals();
});
afterAll(() => totals.stop());

describe('shared totals', () => {
  it('are read by the first process only, those of ids without events included', async () => {
    const [one, other] = [await totals.aWriter(), await totals.aProcess()];
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
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
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
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
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
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
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
    const reader = await totals.aProcess();
    const { count, read, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map());
    const next = await totals.aProcess();
    await next.evict('insert', evicted(['other']));
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
  });

  it('are all read again when a writer may have lost evictions with its connection', async () => {
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
    const { count, read, stored } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    reader.onGap();
    expect(await read(reader, ['a'])).toEqual(new Map());
    writer.onGap();
    await waitFor(async () => (await read(reader, ['a'])).get('a') === '1', { what: 'all totals to be evicted' });
  });

  it('are all read again when the evictions of an insert failed', async () => {
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
    const { count, read, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    count('a');
    // Longer than a writer waits for an answer.
    await totals.client.call('CLIENT', 'PAUSE', '2500', 'WRITE');
    await writer.evict('insert', evicted(['a']));
    count('a');
    await writer.evict('insert', evicted(['a']));
    await waitFor(async () => (await read(reader, ['a'])).get('a') === '2', {
      what: 'all totals to be evicted',
    });
  });

  it('are read again after an insert that is evicted while a new generation replaces lost evictions', async () => {
    const answers: (() => void)[] = [];
    let outcome: 'answer' | 'fail' | 'hold' = 'answer';
    const writer = await totals.aProcess(async (command) => {
      if (outcome === 'fail') throw new Error('Redis is away');
      await command();
      if (outcome !== 'hold') return;
      outcome = 'answer';
      await new Promise<void>((resolve) => answers.push(resolve));
    });
    await writer.evictAll();
    const reader = await totals.aProcess();
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

  it('are marked and evicted at once while their eviction waits for a Redis that is away, or for its replicas', async () => {
    let outcome: 'answer' | 'fail' | 'hold' = 'answer';
    const writer = await totals.aProcess(async (command) => {
      if (outcome === 'fail') throw new Error('no replica confirms');
      await command();
      if (outcome === 'hold') await new Promise(() => {});
    });
    await writer.evictAll();
    const reader = await totals.aProcess();
    const { count, read, reads, stored, evicted } = aWorkspace();
    await stored(reader, ['a']);
    outcome = 'fail';
    await writer.evict('first', evicted(['b']));
    outcome = 'hold';
    await writer.mark('second', evicted(['a']));
    const before = reads.length;
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    expect(reads.length).toBe(before + 2);
    await writer.evict('second', evicted(['a']));
    await stored(reader, ['a']);
  });

  it('are not stored before a writer that evicts has started, and again once it inserts into an emptied Redis', async () => {
    const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
    const { workspaceId, count, read, stored, evicted } = aWorkspace();
    await totals.client.flushdb();
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    expect(await totals.client.keys(`*${workspaceId}*`)).toEqual([]);
    await writer.evict('insert', evicted(['b']));
    await stored(reader, ['a']);
  });

  it('are read from ClickHouse while Redis is away', async () => {
    const { count, read } = aWorkspace();
    const reader = await totals.aProcess();
    totals.opened.at(-1)?.close();
    count('a');
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
  });

  it('are stored under a lease that expires, and expire within ten minutes', async () => {
    const reader = await totals.aProcess();
    const { workspaceId, startRead, stored } = aWorkspace();
    const key = `waymark:cache:{${workspaceId}}:totals:a`;
    const reading = startRead(reader, ['a']);
    await reading.begun;
    expect(await totals.client.pttl(key)).toBeGreaterThan(0);
    expect(await totals.client.pttl(key)).toBeLessThanOrEqual(5_000);
    reading.open();
    await stored(reader, ['a']);
    expect(await totals.client.pttl(key)).toBeGreaterThan(5_000);
    expect(await totals.client.pttl(key)).toBeLessThanOrEqual(600_000);
  });

  it('include every insert that was evicted before the read began, for any order of reads, inserts, evictions and lost entries', async () => {
    const writers = [await totals.aWriter(), await totals.aWriter()] as const;
    const readers = [await totals.aProcess(), await totals.aProcess()] as const;
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
        const workspace = aWorkspace();
        const { count, current, read, evicted } = workspace;
        const readings = createReadings(workspace, readers);
        let inserted = new Set<string>();
        for (const one of steps) {
          if (one.do === 'start') {
            await readings.start(one.process, one.ids);
          } else if (one.do === 'finish') {
            await readings.finish(one.which);
          } else if (one.do === 'insert') {
            for (const id of one.ids) {
              count(id);
              inserted.add(id);
            }
          } else if (one.do === 'flush') await totals.client.flushdb();
          else {
            const writer = writers[one.process] ?? writers[0];
            if (one.do === 'evict') await writer.evict('insert', evicted([...inserted]));
            else await writer.evictAll();
            inserted = new Set();
            const ids = ['a', 'b', 'c'];
            for (const reader of readers) expect(await read(reader, ids)).toEqual(current(ids));
          }
        }
        await readings.finishAll();
      }),
      { numRuns: 200 },
    );
  });
});
