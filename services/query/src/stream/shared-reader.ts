import type { TailPosition } from '@waymark/event-queue';
import type { Frame } from './frames.js';
import { createSliceReader } from './slice-reader.js';
import { StreamEnd, withRetries } from './stream-end.js';
import { createWakeUps } from './wake-ups.js';
import type { Slice, WorkspaceTail } from './workspace-tail.js';

/** Characters of the frames that are kept for streams that are a little behind. */
const KEPT_CHARS_MAX = 2_000_000;

/** Reads the newest events of a tail once for all streams with equal subscriptions. */
export interface SharedReader {
  /** The frames after a position, and the position after them; undefined when the frames are not kept any more, or for another epoch. */
  take(position: TailPosition): { readonly frames: Frame[]; readonly end: TailPosition } | undefined;
  /** Resolves when there may be more frames, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
  /** Stops reading. Call it when no stream uses the reader any more. */
  stop(): void;
}

export interface SharedReaderOptions {
  readonly tail: WorkspaceTail;
  readonly read: (slice: Slice) => Promise<Frame[]>;
  readonly giveUpAfterMs: number;
  /** How long frames are kept for streams that are behind, in milliseconds. What they show may have been removed or hidden since they were made. */
  readonly framesKeptMs: number;
  /** Called when events cannot be read any more; the reader has stopped then. */
  readonly onEnd: (end: StreamEnd) => void;
}

/** A frame, and when it was read. */
interface KeptFrame extends Frame {
  readonly readMs: number;
}

/** Begins to read: what is added to the tail from now on. */
export function createSharedReader({
  tail,
  read,
  giveUpAfterMs,
  framesKeptMs,
  onEnd,
}: SharedReaderOptions): SharedReader {
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeUps = createWakeUps();
  let frames: readonly KeptFrame[] = [];
  /** `frames` has all frames between `begin` and `end`. */
  let begin = tail.head();
  let end = begin;

  /** Drops the first frames. @param last the index of the last one to drop, or -1 */
  function dropUntil(last: number): void {
    if (last < 0) return;
    begin = frames[last]?.position ?? begin;
    frames = frames.slice(last + 1);
  }

  function dropOld(): void {
    const sinceMs = performance.now() - framesKeptMs;
    dropUntil(frames.findLastIndex(({ readMs }) => readMs < sinceMs));
  }

  /** Adds frames at the end, and drops the oldest beyond the bound. */
  function keep(next: readonly Frame[]): void {
    const readMs = performance.now();
    frames = [...frames, ...next.map(({ position, text }) => ({ position, text, readMs }))];
    let chars = 0;
    dropUntil(
      frames.findLastIndex(({ text }) => {
        chars += text.length;
        return chars > KEPT_CHARS_MAX;
      }),
    );
    dropOld();
  }

  const readAfter = createSliceReader(tail, read);

  async function readOn(): Promise<void> {
    while (!signal.aborted) {
      if (tail.head().number <= end.number) {
        await tail.changed(signal);
        continue;
      }
      const slice = await withRetries(() => readAfter(end), { giveUpAfterMs, signal });
      if (slice.gap !== undefined) {
        // For streams before the gap, `take` returns undefined from now on. They read the tail themselves, and so find the gap.
        frames = [];
        begin = slice.gap.to;
      }
      keep(slice.frames);
      end = slice.end;
      wakeUps.wakeAll();
    }
  }

  readOn().catch((err: unknown) => {
    if (!signal.aborted) onEnd(err instanceof StreamEnd ? err : new StreamEnd('unavailable', { cause: err }));
  });

  return {
    take(position) {
      dropOld();
      if (position.epoch !== begin.epoch || position.number < begin.number) return undefined;
      const after = frames.filter((frame) => frame.position.number > position.number);
      return { frames: after, end: position.number > end.number ? position : end };
    },
    changed: wakeUps.wait,
    stop: () => stopping.abort(new StreamEnd('shutdown')),
  };
}
