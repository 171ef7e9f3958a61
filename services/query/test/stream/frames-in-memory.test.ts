import { waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { createEventOutput } from '../../src/stream/event-output.js';
import type { Frame } from '../../src/stream/frames.js';
import { runStream } from '../../src/stream/run-stream.js';

const positionAt = (number: number) => ({ epoch: 1, number });
const FRAMES = 50;
/** More than the buffer of a client that does not read. */
const CHARS = 100_000;

it('a stream whose client is slow holds only what is still to be sent, not what was written before', async () => {
  const frames: Frame[] = Array.from({ length: FRAMES }, (_, index) => ({
    position: positionAt(index + 1),
    text: String(index % 10).repeat(CHARS),
  }));
  const output = createEventOutput(60_000);
  const ending = new AbortController();
  const slice = { gap: undefined, entries: [], end: positionAt(FRAMES) };
  const running = runStream(positionAt(0), {
    output,
    tail: { after: async () => slice } as never,
    shared: {
      take: ({ number }) => (number < FRAMES ? undefined : { frames: [], end: positionAt(FRAMES) }),
      changed: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      stop: () => undefined,
    },
    read: async () => frames,
    giveUpAfterMs: 60_000,
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
    unsent.push(FRAMES - Math.floor(chars / CHARS));
  });
  await waitFor(() => chars >= FRAMES * CHARS, { what: 'all frames to be read' });
  ending.abort(new Error('the end'));
  await expect(running).rejects.toThrow('the end');
  for (const [index, held] of left.entries()) expect(held).toBeLessThanOrEqual((unsent[index] ?? 0) + 1);
});
