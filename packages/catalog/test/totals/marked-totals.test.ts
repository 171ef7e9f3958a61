import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace, createReadings, startTotals } from './totals-processes.js';

// Totals that an insert under way changes.

let totals: Awaited<ReturnType<typeof startTotals>>;
beforeAll(async () => {
  totals = await startTotals();
});
afterAll(() => totals.stop());

it('marked totals are read from ClickHouse from the start of an insert to its eviction, or for a minute if that never comes', async () => {
  const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
  const { workspaceId, count, read, reads, stored, evicted } = aWorkspace();
  await stored(reader, ['a']);
  await writer.mark('insert', evicted(['a']));
  count('a');
  for (const number of [1, 2]) {
    const before = reads.length;
    expect(await read(reader, ['a'])).toEqual(new Map([['a', '1']]));
    expect([number, reads.slice(before)]).toEqual([number, [['a']]]);
  }
  const [key = ''] = await totals.client.keys(`*${workspaceId}*`);
  const leftMs = await totals.client.pttl(key);
  expect([leftMs > 0, leftMs <= 60_000]).toEqual([true, true]);
  await writer.evict('insert', evicted(['a']));
  await stored(reader, ['a']);
});

it('marked totals are cached again when the last of several inserts is evicted, however often each began', async () => {
  const [writer, other, reader] = [await totals.aWriter(), await totals.aWriter(), await totals.aProcess()];
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

it('marked totals are evicted from a full Redis', async () => {
  const [writer, reader] = [await totals.aWriter(), await totals.aProcess()];
  const { count, read, stored, evicted } = aWorkspace();
  await stored(reader, ['a', 'b', 'c']);
  await writer.mark('under way', evicted(['c']));
  await totals.client.config('SET', 'maxmemory', '1');
  try {
    for (const id of ['a', 'b', 'c']) {
      await writer.mark(id, evicted([id]));
      count(id);
      expect((await read(reader, [id])).get(id)).toBe('1');
      await writer.evict(id, evicted([id]));
      expect((await read(reader, [id])).get(id)).toBe('1');
    }
  } finally {
    await totals.client.config('SET', 'maxmemory', '0');
  }
});

it('marked totals are never older than an insert that was marked', async () => {
  const [writers, readers] = [
    [await totals.aWriter(), await totals.aWriter()] as const,
    [await totals.aProcess(), await totals.aProcess()] as const,
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
      const workspace = aWorkspace();
      const { count, current, read, evicted } = workspace;
      const readings = createReadings(workspace, readers);
      const inserts: { readonly token: string; readonly ids: readonly string[] }[] = [];
      for (const one of steps) {
        if (one.do === 'start') {
          await readings.start(one.process, one.ids);
        } else if (one.do === 'finish') {
          await readings.finish(one.which);
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
      await readings.finishAll();
    }),
    { numRuns: 100 },
  );
});
