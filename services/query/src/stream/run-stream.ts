import type { TailPosition } from '@waymark/event-queue';
import type { EventOutput } from './event-output.js';
import { type Frame, gapFrame, openFrame } from './frames.js';
import type { SharedReader } from './shared-reader.js';
import { createSliceReader } from './slice-reader.js';
import { withRetries } from './stream-end.js';
import { jitter, RETRY_MS } from './stream-times.js';
import type { Slice, WorkspaceTail } from './workspace-tail.js';

/** What a stream sends, and where to. */
export interface StreamRun {
  readonly output: EventOutput;
  readonly tail: WorkspaceTail;
  /** The reader that streams with equal subscriptions share. */
  readonly shared: SharedReader;
  /** Reads for this stream alone, while it is too far behind for the shared reader. */
  readonly read: (slice: Slice) => Promise<Frame[]>;
  /** How long reads are repeated while the stores do not answer, in milliseconds. */
  readonly giveUpAfterMs: number;
  /** For how long frames that were made for a stream are sent, in milliseconds. */
  readonly framesKeptMs: number;
  readonly signal: AbortSignal;
  /** The end of the tail when the stream was opened. */
  readonly openedAt: TailPosition;
  /** Called with the position up to which everything was sent. */
  readonly onPosition: (position: TailPosition) => void;
}

/** Frames are joined and written when they have this many characters. */
const WRITE_CHARS = 32 * 1024;

/** Sends the events after a position until the signal aborts. @throws its reason, and what the reads throw */
export async function runStream(start: TailPosition, run: StreamRun): Promise<never> {
  const { output, tail, shared, read, giveUpAfterMs, framesKeptMs, signal, openedAt, onPosition } = run;
  const readAfter = createSliceReader(tail, read);
  let position = start;

  /** Writes a text, after which the stream is at `end`. A written text counts as sent: if the stream ends, its frame `bye` comes after this text. */
  async function send(text: string, end: TailPosition): Promise<void> {
    await output.ready(signal);
    output.write(text);
    advance(end);
  }
  const advance = (to: TailPosition) => {
    position = to;
    onPosition(to);
  };
  /**
   * Sends frames, several with one write, because a write costs as much as a frame. Removes them from the array: frames of one link share its
   * text until they are written, but each written frame has a copy of its own, and a slow client would keep a thousand copies in memory. What a
   * slow client has not taken in time is left out, without an advance: it is read anew, because it may have been removed or hidden meanwhile.
   */
  async function sendAll(frames: Frame[], end: TailPosition): Promise<void> {
    const untilMs = performance.now() + framesKeptMs;
    let text = '';
    for (let frame = frames.shift(); frame !== undefined; frame = frames.shift()) {
      text += frame.text;
      if (text.length < WRITE_CHARS && frames.length > 0) continue;
      await send(text, frame.position);
      text = '';
      if (performance.now() > untilMs && frames.length > 0) return;
    }
    advance(end);
  }

  /** Sends the next slice of a stream that is too far behind for the shared reader, and the gap before it, if any. */
  async function catchUp(): Promise<void> {
    const { gap, frames, end } = await withRetries(() => readAfter(position), { giveUpAfterMs, signal });
    if (gap !== undefined) await send(gapFrame(gap), gap.to);
    await sendAll(frames, end);
  }

  await send(openFrame(position, jitter(RETRY_MS)), position);
  if (position.epoch === openedAt.epoch && position.number > openedAt.number) {
    // The client is ahead of the tail: Redis was replaced by a server that lacks its last writes.
    await send(gapFrame({ from: position, to: openedAt, events: undefined }), openedAt);
  }
  for (;;) {
    signal.throwIfAborted();
    // What was stored before this stream was opened is read anew: the shared frames may have been made hours before.
    const isOlder = position.number < openedAt.number;
    if (isOlder && position.epoch === tail.head().epoch && position.number >= tail.head().number) {
      await tail.changed(signal);
      continue;
    }
    const taken = isOlder ? undefined : shared.take(position);
    if (taken === undefined) await catchUp();
    else if (taken.end.number > position.number) await sendAll(taken.frames, taken.end);
    else await shared.changed(signal);
  }
}
