import { waitFor } from '@waymark/test-kit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createMicroBatcher, type MicroBatcherOptions } from '../../src/producer/micro-batcher.js';

function aBatcher(options: Partial<MicroBatcherOptions<number>> = {}) {
  const batches: number[][] = [];
  const gates: (() => void)[] = [];
  const batcher = createMicroBatcher<number>({
    delayMs: 5,
    loneRowsMax: 0,
    rowsMax: 10,
    bytesMax: 1000,
    inFlightMax: 2,
    flush: (items) => {
      batches.push([...items]);
      return new Promise((resolve) => gates.push(resolve));
    },
    ...options,
  });
  const finishOne = () => gates.shift()?.();
  return { batcher, batches, finishOne };
}

describe('the micro-batcher', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends items added together as one batch', async () => {
    const { batcher, batches } = aBatcher();
    for (const item of [1, 2, 3]) batcher.add(item, 1, 10);
    expect(batches).toEqual([]);
    await waitFor(() => batches.length > 0, { what: 'the first batch' });
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('delays an item only if the batch before it was large', async () => {
    vi.useFakeTimers();
    const { batcher, batches, finishOne } = aBatcher({ loneRowsMax: 1, delayMs: 60_000 });
    batcher.add(1, 1, 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(batches).toEqual([[1]]);
    for (const item of [2, 3]) batcher.add(item, 1, 1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(batches).toEqual([[1]]);
    finishOne();
    await vi.advanceTimersByTimeAsync(0);
    expect(batches).toEqual([[1], [2, 3]]);
    finishOne();
    await vi.advanceTimersByTimeAsync(0);
    batcher.add(4, 1, 1);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(batches).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1000);
    expect(batches).toEqual([[1], [2, 3], [4]]);
  });

  it('never exceeds its limit of rows, and sends a full batch without delay', () => {
    const { batcher, batches } = aBatcher({ delayMs: 60_000 });
    batcher.add(1, 6, 1);
    batcher.add(2, 6, 1);
    expect(batches).toEqual([[1]]);
    batcher.add(3, 4, 1);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('never exceeds its limit of bytes, except for a single item', () => {
    const { batcher, batches } = aBatcher({ delayMs: 60_000, inFlightMax: 9 });
    batcher.add(1, 1, 600);
    batcher.add(2, 1, 600);
    batcher.add(3, 1, 5000);
    expect(batches).toEqual([[1], [2], [3]]);
  });

  it('lets the open batch grow while the limit of batches in flight is reached', async () => {
    vi.useFakeTimers();
    const { batcher, batches, finishOne } = aBatcher({ inFlightMax: 1, delayMs: 5 });
    batcher.add(1, 1, 1);
    await vi.advanceTimersByTimeAsync(5);
    for (const item of [2, 3]) batcher.add(item, 1, 1);
    await vi.advanceTimersByTimeAsync(50);
    batcher.add(4, 1, 1);
    expect(batches).toEqual([[1]]);
    finishOne();
    await vi.advanceTimersByTimeAsync(0);
    expect(batches[1]).toEqual([2, 3, 4]);
  });

  it('sends everything on close, and waits until it is sent', async () => {
    const { batcher, batches, finishOne } = aBatcher({ delayMs: 60_000, inFlightMax: 1, rowsMax: 1 });
    for (const item of [1, 2, 3]) batcher.add(item, 1, 1);
    let isClosed = false;
    const closing = batcher.close().then(() => {
      isClosed = true;
    });
    for (let batch = 1; batch <= 3; batch++) {
      await waitFor(() => batches.length === batch, { what: `batch ${batch}` });
      expect(isClosed).toBe(false);
      finishOne();
    }
    await closing;
    expect(batches).toEqual([[1], [2], [3]]);
  });
});
