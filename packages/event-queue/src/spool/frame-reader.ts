import type { FileHandle } from 'node:fs/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import { decodeFrame, FRAME_START, type SpoolEntry } from './frame.js';

/** The bytes of a spool file cannot be read at the moment, for lack of file descriptors or because a disk fails. */
export class UnreadableSpoolError extends Error {
  override readonly name = 'UnreadableSpoolError';
}

/** Some entries of a spool file. The last chunk of a file may have none. */
export interface FrameChunk {
  readonly entries: readonly SpoolEntry[];
  /** Offset in the file after the last entry; after the last chunk, the size of the file. */
  readonly end: number;
  /** Bytes since the chunk before that cannot be read: corruption on disk, or an entry of a later release. */
  readonly damagedBytes: number;
  /** Invalid bytes at the end of the file: an entry whose write was interrupted, so that it was never acknowledged. */
  readonly tornBytes: number;
}

/** Bytes that are read at a time; more for an entry that is longer. */
const RANGE_BYTES = 1024 * 1024;
/** After decoding this many bytes, which takes a few milliseconds, a read yields to the event loop. */
const BYTES_AT_ONCE = 256 * 1024;
const CHUNK_ENTRIES_MAX = 20;
const CHUNK_CHARS_MAX = 1_000_000;

function orUnreadable<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((cause: unknown) => {
    throw new UnreadableSpoolError('a spool file cannot be read', { cause });
  });
}

/** The part of a file that is in memory, of its first `size` bytes. */
class Window {
  readonly #handle: FileHandle;
  readonly #size: number;
  /** Offset of `bytes` in the file. */
  start: number;
  bytes: Buffer = Buffer.alloc(0);

  constructor(handle: FileHandle, size: number, start: number) {
    this.#handle = handle;
    this.#size = size;
    this.start = start;
  }

  /**
   * Reads the next bytes, at least as many as it has, and drops those before the offset `from`.
   *
   * @returns false at the end of the file
   */
  async readMore(from: number): Promise<boolean> {
    const kept = this.bytes.subarray(from - this.start);
    const at = from + kept.length;
    const length = Math.min(Math.max(RANGE_BYTES, kept.length), this.#size - at);
    if (length <= 0) return false;
    const buffer = Buffer.allocUnsafe(kept.length + length);
    kept.copy(buffer);
    const { bytesRead } = await orUnreadable(this.#handle.read(buffer, kept.length, length, at));
    this.bytes = buffer.subarray(0, kept.length + bytesRead);
    this.start = from;
    return bytesRead > 0;
  }

  /** Offset of the first line break from the offset `from` on after which a header seems to begin; undefined if there is none. */
  async findStart(from: number): Promise<number | undefined> {
    let searched = from;
    for (;;) {
      const found = this.bytes.indexOf(FRAME_START, searched - this.start);
      if (found >= 0) return this.start + found;
      // The last bytes may be the beginning of what is looked for.
      searched = Math.max(searched, this.start + this.bytes.length - FRAME_START.length + 1);
      if (!(await this.readMore(searched))) return undefined;
    }
  }
}

/**
 * Reads the entries of a spool file from an offset on, a part of the file at a time, and yields to the event loop meanwhile.
 *
 * @param from 0, or the `end` of a chunk
 * @throws UnreadableSpoolError
 */
export async function* readFrames(handle: FileHandle, from: number): AsyncGenerator<FrameChunk> {
  // What another process appends later is no part of the file: it writes these entries to a file of its own again.
  const { size } = await orUnreadable(handle.stat());
  const window = new Window(handle, size, from);
  let position = from;
  let decodedBytes = 0;
  let [entries, chars, damagedBytes]: [SpoolEntry[], number, number] = [[], 0, 0];
  while (position < size) {
    const frame = decodeFrame(window.bytes, position - window.start, size - position);
    if (frame === 'incomplete') {
      if (await window.readMore(position)) continue;
      break;
    }
    if (frame === 'torn' || frame === 'unreadable') {
      const next = await window.findStart(position);
      if (next === undefined && frame === 'torn') break;
      if (next === undefined) {
        damagedBytes += size - position;
        position = size;
        break;
      }
      damagedBytes += next + 1 - position;
      position = next + 1;
      continue;
    }
    const { entry, end } = frame;
    if (entries.length >= CHUNK_ENTRIES_MAX || (entries.length > 0 && chars + entry.rows.length > CHUNK_CHARS_MAX)) {
      yield { entries, end: position, damagedBytes, tornBytes: 0 };
      [entries, chars, damagedBytes] = [[], 0, 0];
    }
    entries.push(entry);
    chars += entry.rows.length;
    decodedBytes += window.start + end - position;
    position = window.start + end;
    if (decodedBytes < BYTES_AT_ONCE) continue;
    decodedBytes = 0;
    await immediate();
  }
  yield { entries, end: size, damagedBytes, tornBytes: size - position };
}
