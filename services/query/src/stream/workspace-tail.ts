import { TAIL_ENTRIES_MAX, type TailEntry, type TailPosition } from '@waymark/event-queue';
import { createWakeUps } from './wake-ups.js';

/** How many event ids are kept in memory, so that readers near the end of the tail need not read the same entries from Redis. */
const RECENT_IDS_MAX = 20_000;
/** The fewest entries that are read from Redis: those after a large one may be small. */
const ENTRIES_MIN = 10;
/** Events that a reader cannot get: they are no longer in the tail, or were stored while the workspace had no tail. */
export interface Gap {
  readonly from: TailPosition;
  readonly to: TailPosition;
  /** Their number; undefined = unknown. */
  readonly events: number | undefined;
}

/** The part of a tail after a reader's position. */
export interface Slice {
  readonly gap: Gap | undefined;
  readonly entries: readonly TailEntry[];
  /** Where the next slice begins. */
  readonly end: TailPosition;
}

/** The entries after a position. The first is shortened if the position lies within it. */
function entriesAfter(entries: readonly TailEntry[], { number }: TailPosition): TailEntry[] {
  return entries
    .filter(({ end }) => end.number > number)
    .map((entry) => {
      const skipped = number - entry.start.number;
      if (skipped <= 0) return entry;
      return { ...entry, start: { ...entry.start, number }, ids: entry.ids.slice(skipped) };
    });
}

/** The entries with the first ids. The last one is shortened if it has more. */
function firstOf(entries: readonly TailEntry[], idsMax: number): readonly TailEntry[] {
  let left = idsMax;
  const first: TailEntry[] = [];
  for (const entry of entries) {
    if (left === 0) break;
    const ids = entry.ids.slice(0, left);
    const number = entry.start.number + ids.length;
    first.push(ids.length === entry.ids.length ? entry : { ...entry, end: { ...entry.start, number }, ids });
    left -= ids.length;
  }
  return first;
}

/** How many entries to read for so many ids, with one more, because the position may lie within the first. */
function entriesFor(ids: number, idsPerEntry: number): number {
  return Math.min(TAIL_ENTRIES_MAX, Math.max(ENTRIES_MIN, Math.ceil(ids / idsPerEntry) + 1));
}

/** The tail of one workspace, as far as this process has read it. */
export interface WorkspaceTail {
  /** The end of the last entry that this process has read. */
  readonly head: () => TailPosition;
  /** Adds those entries that are after the head. @returns false when they are of another epoch, because Redis has lost the tail */
  append(entries: readonly TailEntry[]): boolean;
  /**
   * The slice after a position, from memory or Redis. It is empty at the head. A position of another epoch has a gap after it.
   *
   * @param idsMax maximum number of its ids
   * @throws Error when Redis has lost the tail; the error of Redis or the connection
   */
  after(position: TailPosition, idsMax: number): Promise<Slice>;
  /** Resolves when entries were appended, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
}

/**
 * @param start the end of the tail
 * @param readAfter reads the first entries after a position from Redis
 */
export function createWorkspaceTail(
  start: TailPosition,
  readAfter: (position: TailPosition, entriesMax: number) => Promise<readonly TailEntry[]>,
): WorkspaceTail {
  const wakeUps = createWakeUps();
  let head = start;
  /** Consecutive entries up to the head. */
  let recent: readonly TailEntry[] = [];
  /** Of the entries that were read from Redis last, on average. */
  let idsPerEntry = 1;

  /** Drops the oldest entries beyond the bound. */
  function keepRecent(entries: readonly TailEntry[]): void {
    let ids = 0;
    const first = entries.findLastIndex((entry) => {
      ids += entry.ids.length;
      return ids > RECENT_IDS_MAX;
    });
    recent = entries.slice(first + 1);
  }

  /** Reads entries before the head from Redis. Without an error, a reader that gets none of them would read again without a pause. */
  async function readStored(from: TailPosition, idsMax: number): Promise<readonly TailEntry[]> {
    const entries = await readAfter(from, entriesFor(idsMax, idsPerEntry));
    if (entries[0]?.start.epoch !== from.epoch) throw new Error('Redis has lost the tail');
    idsPerEntry = Math.max(1, entries.reduce((sum, { ids }) => sum + ids.length, 0) / entries.length);
    return entries;
  }

  return {
    head: () => head,

    append(entries) {
      const [first] = entries;
      if (first === undefined) return true;
      if (first.start.epoch !== head.epoch) return false;
      const following = entriesAfter(entries, head);
      const isConsecutive = following[0]?.start.number === head.number;
      keepRecent(isConsecutive ? [...recent, ...following] : following);
      head = following.at(-1)?.end ?? head;
      wakeUps.wakeAll();
      return true;
    },

    async after(position, idsMax) {
      const isSameEpoch = position.epoch === head.epoch;
      const from = isSameEpoch ? position : { epoch: head.epoch, number: 0 };
      const isRecent = (recent[0]?.start ?? head).number <= from.number;
      const entries = entriesAfter(isRecent ? recent : await readStored(from, idsMax), from);
      const begin = entries[0]?.start ?? from;
      const hasGap = !isSameEpoch || begin.number > from.number;
      const events = isSameEpoch ? begin.number - from.number : undefined;
      const slice = firstOf(entries, idsMax);
      return {
        gap: hasGap ? { from: position, to: begin, events } : undefined,
        entries: slice,
        end: slice.at(-1)?.end ?? begin,
      };
    },

    changed: wakeUps.wait,
  };
}
