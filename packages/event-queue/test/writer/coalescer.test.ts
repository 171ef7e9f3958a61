import { waitFor } from '@waymark/test-kit';
import { describe, expect, it } from 'vitest';
import { type CoalescerOptions, createCoalescer } from '../../src/writer/coalescer.js';

function aCoalescer(options: Partial<CoalescerOptions<string>> = {}) {
  const groups: { jobs: readonly string[]; reason: string }[] = [];
  const coalescer = createCoalescer<string>({
    rowsMax: 100,
    bytesMax: 1000,
    delayMs: 60_000,
    jobsMax: 50,
    concurrency: 2,
    write: async (jobs, reason) => {
      groups.push({ jobs, reason });
    },
    ...options,
  });
  const add = (job: string, rows = 1, version = 1, bytes = rows) => coalescer.add(job, { version, rows, bytes });
  return { coalescer, groups, add };
}

describe('the coalescer', () => {
  it('never mixes versions in a group', async () => {
    const { coalescer, groups, add } = aCoalescer();
    const added = [add('a', 1, 1), add('b', 1, 2), add('c', 1, 1)];
    await coalescer.close();
    await Promise.all(added);
    expect(groups.map(({ jobs }) => jobs)).toEqual([['a', 'c'], ['b']]);
  });

  it('closes a group before a job would push it over its rows or bytes', () => {
    const { groups, add } = aCoalescer();
    void add('a', 60);
    void add('b', 60);
    expect(groups).toEqual([{ jobs: ['a'], reason: 'rows' }]);
    void add('c', 1, 1, 990);
    expect(groups[1]).toEqual({ jobs: ['b'], reason: 'bytes' });
  });

  it('writes after its delay what came alone', async () => {
    const { groups, add } = aCoalescer({ delayMs: 5 });
    await add('a');
    expect(groups).toEqual([{ jobs: ['a'], reason: 'time' }]);
  });

  it('does not wait for jobs that cannot come', async () => {
    const { groups, add } = aCoalescer({ jobsMax: 3 });
    await Promise.all([add('a'), add('b'), add('c')]);
    expect(groups).toEqual([{ jobs: ['a', 'b', 'c'], reason: 'all jobs are here' }]);
  });

  it('writes no more groups at once than allowed, and all of them on closing', async () => {
    const gates: (() => void)[] = [];
    let isWritten = 0;
    const { coalescer, add } = aCoalescer({
      concurrency: 2,
      rowsMax: 1,
      write: async () => {
        await new Promise<void>((resolve) => gates.push(resolve));
        isWritten += 1;
      },
    });
    const added = ['a', 'b', 'c', 'd'].map((job) => add(job));
    expect(gates).toHaveLength(2);
    const closing = coalescer.close();
    for (let group = 1; group <= 4; group++) {
      await waitFor(() => gates.length > 0, { what: 'a group under way' });
      gates.shift()?.();
      await waitFor(() => isWritten === group, { what: `group ${group}` });
    }
    await Promise.all([closing, ...added]);
  });

  it('tells every job of a group when it could not be written', async () => {
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
