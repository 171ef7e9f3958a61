import { waitFor } from '@waymark/test-kit';
import { describe, expect, it } from 'vitest';
import { type CoalescerOptions, createCoalescer } from '../../src/writer/coalescer.js';

function aCoalescer(options: Partial<CoalescerOptions<string>> = {}) {
  const batches: { jobs: readonly string[]; reason: string }[] = [];
  const coalescer = createCoalescer<string>({
    rowsMax: 100,
    bytesMax: 1000,
    delayMs: 60_000,
    jobsMax: 50,
    concurrency: 2,
    write: async (jobs, reason) => {
      batches.push({ jobs, reason });
    },
    ...options,
  });
  const add = (job: string, rows = 1, version = 1, bytes = rows) => coalescer.add(job, { version, rows, bytes });
  return { coalescer, batches, add };
}

describe('the coalescer', () => {
  it('never mixes versions in a batch', async () => {
    const { coalescer, batches, add } = aCoalescer();
    const added = [add('a', 1, 1), add('b', 1, 2), add('c', 1, 1)];
    await coalescer.close();
    await Promise.all(added);
    expect(batches.map(({ jobs }) => jobs)).toEqual([['a', 'c'], ['b']]);
  });

  it('closes a batch before a job would exceed its limit of rows or bytes', () => {
    const { batches, add } = aCoalescer();
    void add('a', 60);
    void add('b', 60);
    expect(batches).toEqual([{ jobs: ['a'], reason: 'rows' }]);
    void add('c', 1, 1, 990);
    expect(batches[1]).toEqual({ jobs: ['b'], reason: 'bytes' });
  });

  it('writes a single job after the delay', async () => {
    const { batches, add } = aCoalescer({ delayMs: 5 });
    await add('a');
    expect(batches).toEqual([{ jobs: ['a'], reason: 'time' }]);
  });

  it('does not wait when no further job can arrive', async () => {
    const { batches, add } = aCoalescer({ jobsMax: 3 });
    await Promise.all([add('a'), add('b'), add('c')]);
    expect(batches).toEqual([{ jobs: ['a', 'b', 'c'], reason: 'all active jobs are here' }]);
  });

  it('gathers further jobs while the limit of concurrent writes is reached, whatever the delay', async () => {
    const gates: (() => void)[] = [];
    const { batches, add } = aCoalescer({
      delayMs: 0,
      concurrency: 1,
      jobsMax: 4,
      write: async (jobs, reason) => {
        batches.push({ jobs, reason });
        await new Promise<void>((resolve) => gates.push(resolve));
      },
    });
    const first = add('a');
    await waitFor(() => gates.length === 1, { what: 'the first write' });
    const late = add('b');
    // Timers of one length fire in the order in which they were started, so that of the batch has fired.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const later = [add('c'), add('d'), add('e')];
    gates.shift()?.();
    await first;
    await waitFor(() => gates.length === 1, { what: 'the second write' });
    expect(batches.map(({ jobs }) => jobs)).toEqual([['a'], ['b', 'c', 'd', 'e']]);
    gates.shift()?.();
    await Promise.all([late, ...later]);
  });

  it('limits concurrent writes, and writes every batch on close', async () => {
    const gates: (() => void)[] = [];
    let written = 0;
    const { coalescer, add } = aCoalescer({
      concurrency: 2,
      rowsMax: 1,
      write: async () => {
        await new Promise<void>((resolve) => gates.push(resolve));
        written += 1;
      },
    });
    const added = ['a', 'b', 'c', 'd'].map((job) => add(job));
    expect(gates).toHaveLength(2);
    const closing = coalescer.close();
    for (let batch = 1; batch <= 4; batch++) {
      await waitFor(() => gates.length > 0, { what: 'a batch in progress' });
      gates.shift()?.();
      await waitFor(() => written === batch, { what: `batch ${batch}` });
    }
    await Promise.all([closing, ...added]);
  });

  it('rejects every job of a batch that could not be written', async () => {
    const { add } = aCoalescer({
      jobsMax: 2,
      write: async () => {
        throw new Error('no');
      },
    });
    const outcomes = await Promise.allSettled([add('a'), add('b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
