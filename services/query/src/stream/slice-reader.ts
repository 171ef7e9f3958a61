import { isTooLarge } from '@waymark/clickhouse';
import type { TailPosition } from '@waymark/event-queue';
import type { Frame } from './frames.js';
import type { Slice, WorkspaceTail } from './workspace-tail.js';

/** Event ids of the first slice: a hundred of the largest clicks have 2.5 MB. */
const FIRST_IDS = 100;
/** Event ids of a slice, which one query looks up in ClickHouse. A few sizes only, so that streams with different filters share its queries. */
const SIZES: readonly number[] = [1000, 300, 100, 30, 10, 3, 1];
/** Maximum characters of the frames of a slice, which a stream holds until its client has taken them; a single frame may have more. */
const FRAMES_CHARS = 1_000_000;

const largestSize = (ids: number): number => SIZES.find((size) => size <= ids) ?? 1;

/** Part of a tail after a position, with the frames of its events that pass the filters. */
export interface ReadSlice {
  readonly gap: Slice['gap'];
  readonly frames: Frame[];
  /** Where the next slice begins. */
  readonly end: TailPosition;
}

/**
 * Creates the reader of the slices of one stream, or of several that share it. How many events a slice has follows from the size of the frames
 * in the one before. Frames beyond {@link FRAMES_CHARS} are dropped, and read again with the next slice. A slice that ClickHouse
 * refuses as too large is read with a third as many events.
 *
 * @param read reads the frames of a slice
 */
export function createSliceReader(tail: Pick<WorkspaceTail, 'after'>, read: (slice: Slice) => Promise<Frame[]>) {
  let idsMax = FIRST_IDS;

  async function readFrames(position: TailPosition): Promise<{ readonly slice: Slice; readonly frames: Frame[] }> {
    const slice = await tail.after(position, idsMax);
    try {
      return { slice, frames: await read(slice) };
    } catch (err) {
      if (idsMax === 1 || !isTooLarge(err)) throw err;
      idsMax = largestSize(idsMax - 1);
      return readFrames(position);
    }
  }

  return async (position: TailPosition): Promise<ReadSlice> => {
    const { slice, frames } = await readFrames(position);
    const ids = slice.entries.reduce((sum, entry) => sum + entry.ids.length, 0);
    let chars = 0;
    let kept = 0;
    for (const { text } of frames) {
      chars += text.length;
      if (chars <= FRAMES_CHARS) kept += 1;
    }
    if (ids > 0) idsMax = largestSize((ids * FRAMES_CHARS) / Math.max(1, chars));
    if (chars > FRAMES_CHARS) frames.length = Math.max(1, kept);
    const last = chars > FRAMES_CHARS ? frames.at(-1) : undefined;
    return { gap: slice.gap, frames, end: last?.position ?? slice.end };
  };
}
