import { waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { createEventOutput } from '../../src/stream/event-output.js';
import type { Frame } from '../../src/stream/frames.js';
import { runStream } from '../../src/stream/run-stream.js';
import { createSharedReader } from '../../src/stream/shared-reader.js';
import { createWorkspaceTail, type Slice } from '../../src/stream/workspace-tail.js';

const positionAt = (number: number) => ({ epoch: 1, number });
const FRAMES = 50;
/** More than the buffer of a client that does not read. */
const CHARS = 100_000;
/** So few that a slice has all frames. */
const SMALL_CHARS = 20_000;

const aSlice = (end: number): Slice => ({ gap: undefined, entries: [], end: positionAt(end) });

it('a stream whose client is slow holds only what is still to be sent, not what was written before', async () => {
  const frames: Frame[] = Array.from({ length: FRAMES }, (_, index) => ({
    position: positionAt(index + 1),
    text: String(index % 10).repeat(SMALL_CHARS),
  }));
  const output = createEventOutput(60_000);
  const ending = new AbortController();
  const running = runStream(positionAt(0), {
    output,
    tail: { after: async () => aSlice(FRAMES), head: () => positionAt(FRAMES) } as never,
    shared: {
      take: ({ number }) => (number < FRAMES ? undefined : { frames: [], end: positionAt(FRAMES) }),
      changed: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      stop: () => undefined,
    },
    read: async () => frames,
    giveUpAfterMs: 60_000,
    framesKeptMs: 60_000,
    signal: ending.signal,
    openedAt: positionAt(0),
    onPosition: () => undefined,
  });
  running.catch(() => undefined);
  let chars = 0;
  const left: number[] = [];
  const unsent: number[] = [];
  output.body.on('data', (chunk: Buffer) => {
    chars += chunk.length;
    left.push(frames.length);
    unsent.push(FRAMES - Math.floor(chars / SMALL_CHARS));
  });
  await waitFor(() => chars >= FRAMES * SMALL_CHARS, { what: 'all frames to be read' });
  ending.abort(new Error('the end'));
  await expect(running).rejects.toThrow('the end');
  for (const [index, held] of left.entries()) expect(held).toBeLessThanOrEqual((unsent[index] ?? 0) + 1);
});

it('what a slow client has not taken in time is read anew, and not sent if it was hidden meanwhile', async () => {
  const output = createEventOutput(60_000);
  const ending = new AbortController();
  let isHidden = false;
  let position = positionAt(0);
  const running = runStream(position, {
    output,
    tail: { after: async () => aSlice(FRAMES), head: () => positionAt(FRAMES) } as never,
    shared: {
      take: ({ number }) => (number < FRAMES ? undefined : { frames: [], end: positionAt(FRAMES) }),
      changed: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      stop: () => undefined,
    },
    read: async () => {
      const left = Array.from({ length: FRAMES - position.number }, (_, index) => position.number + index + 1);
      return isHidden ? [] : left.map((number) => ({ position: positionAt(number), text: 'x'.repeat(CHARS) }));
    },
    ...{ giveUpAfterMs: 60_000, framesKeptMs: 0, signal: ending.signal, openedAt: positionAt(0) },
    onPosition: (sent) => {
      position = sent;
    },
  });
  running.catch(() => undefined);
  await waitFor(() => output.body.readableLength > CHARS, { what: 'a full buffer' });
  isHidden = true;
  let chars = 0;
  output.body.on('data', (chunk: Buffer) => {
    chars += chunk.length;
  });
  await waitFor(() => position.number === FRAMES, { what: 'the end of the tail' });
  ending.abort(new Error('the end'));
  await expect(running).rejects.toThrow('the end');
  // The first one was in the buffer, and the second waited for room in it.
  expect(chars).toBeLessThan(3 * CHARS);
});

it('frames for other streams that are a little behind are kept for a limited time', async () => {
  const tail = createWorkspaceTail(positionAt(0), async () => []);
  const reader = createSharedReader({
    tail,
    read: async ({ end }) => [{ position: end, text: 'a click' }],
    ...{ giveUpAfterMs: 60_000, framesKeptMs: 100 },
    onEnd: () => undefined,
  });
  const take = (number: number) => reader.take(positionAt(number));
  tail.append([{ start: positionAt(0), end: positionAt(1), kind: 'click', ids: ['1'] }]);
  await waitFor(() => take(0)?.end.number === 1, { what: 'the click' });
  await waitFor(() => take(0) === undefined, { what: 'the end of its time' });
  expect(take(1)).toEqual({ frames: [], end: positionAt(1) });
  reader.stop();
});

it('a stream that resumes at the last entry which this process has read waits for the next one', async () => {
  const tail = createWorkspaceTail(positionAt(0), async () => []);
  const ending = new AbortController();
  let advances = 0;
  let position = positionAt(0);
  const running = runStream(position, {
    ...{ output: createEventOutput(60_000), tail },
    shared: {
      take: ({ number }) => (number < 1 ? undefined : { frames: [], end: positionAt(1) }),
      changed: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      stop: () => undefined,
    },
    read: async () => [],
    ...{ giveUpAfterMs: 60_000, framesKeptMs: 60_000, signal: ending.signal, openedAt: positionAt(1) },
    onPosition: (sent) => {
      position = sent;
      advances += 1;
      if (advances > 100) throw new Error('It does not wait.');
      // Polling reads the entry now, which Redis had when the stream was opened.
      setImmediate(() => tail.append([{ start: positionAt(0), end: positionAt(1), kind: 'click', ids: ['1'] }]));
    },
  });
  const ended = expect(running).rejects.toThrow('the end');
  await Promise.race([waitFor(() => position.number === 1, { what: 'the entry' }), running]);
  ending.abort(new Error('the end'));
  await ended;
});
