import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createSpoolOwner, type SpoolOwner } from './file-owner.js';
import { decodeFrames, encodeFrame, type SpoolEntry } from './frame.js';
import { type OpenSegment, openSegment } from './segment.js';

/** The spool has reached its size limit or is closed; the entry was not written. */
export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError';
}

export interface SpoolOptions {
  readonly directory: string;
  /** Limit on the files of this process, including those taken over. */
  readonly bytesMax: number;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

/** Append-only files that hold jobs while Redis is unavailable or full. */
export interface Spool {
  /** Resolves when the entry is on disk. */
  append(entry: SpoolEntry): Promise<void>;
  /**
   * Passes all entries to `send`, oldest file first, and deletes each file once it is sent; takes over files of dead processes.
   * If `send` rejects, the replay stops, and the next one resumes at those entries. If this process dies, the process that takes
   * the file over sends it from the start; that is safe, because entries keep their job ids.
   */
  replay(send: (entries: readonly SpoolEntry[]) => Promise<void>): Promise<void>;
  /** Whether this process has entries to replay. */
  hasEntries(): boolean;
  /** When the oldest file was created, epoch milliseconds. */
  oldestAt(): number | undefined;
  close(): Promise<void>;
}

interface ClosedSegment {
  readonly name: string;
  readonly size: number;
  readonly since: number;
  /** Number of entries already sent, at which an interrupted replay resumes. */
  sent: number;
}

interface PendingEntry {
  readonly bytes: Buffer;
  resolve(): void;
  reject(err: unknown): void;
}

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const WRITE_BYTES_MAX = 8 * 1024 * 1024;
const SEND_ENTRIES_MAX = 20;
const SEND_CHARS_MAX = 1_000_000;
const TOUCH_INTERVAL_MS = 15_000;
const TAKEN_OVER_RETRIES = 3;

function* chunks(entries: readonly SpoolEntry[]): Generator<readonly SpoolEntry[]> {
  let chunk: SpoolEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    if (chunk.length > 0 && (chunk.length >= SEND_ENTRIES_MAX || size + entry.rows.length > SEND_CHARS_MAX)) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(entry);
    size += entry.rows.length;
  }
  if (chunk.length > 0) yield chunk;
}

/** Opens the spool of this process, in a directory that it may share with other processes. */
export function createSpool(options: SpoolOptions): Spool {
  const { directory, logger, now } = options;
  const queue: PendingEntry[] = [];
  const closed: ClosedSegment[] = [];
  let current: { readonly segment: OpenSegment; readonly since: number } | undefined;
  let isWriting = false;
  let isReplaying = false;
  let isClosed = false;
  let lastWrite: Promise<unknown> = Promise.resolve();

  const starting: Promise<SpoolOwner> = (async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return createSpoolOwner(now);
  })();
  starting.catch((err: unknown) => logger.error({ err, directory }, 'the spool directory cannot be used'));

  /** Runs writes and rotations one after another, so that a file is not closed during a write. */
  const serialized = <T>(work: () => Promise<T>): Promise<T> => {
    const result = lastWrite.then(work);
    lastWrite = result.catch(() => undefined);
    return result;
  };

  const bytesHeld = () => closed.reduce((sum, { size }) => sum + size, 0) + (current?.segment.size() ?? 0);

  const rotate = async () => {
    if (current === undefined) return;
    const { segment, since } = current;
    current = undefined;
    if (segment.size() > 0) closed.push({ name: segment.name, size: segment.size(), since, sent: 0 });
    await segment.close();
  };

  const write = async (bytes: Buffer): Promise<void> => {
    const owner = await starting;
    for (let attempt = 0; attempt < TAKEN_OVER_RETRIES; attempt++) {
      if (current !== undefined && current.segment.size() >= SEGMENT_BYTES_MAX) await rotate();
      current ??= { segment: await openSegment(directory, owner.nextName()), since: now() };
      const { segment } = current;
      try {
        if (await segment.append(bytes)) return;
        // Another process has taken the file over and replays it; these bytes may have come too late, and go into a new file.
        current = undefined;
        await segment.close();
      } catch (err) {
        // An incomplete entry must be the last of its file.
        await rotate();
        throw err;
      }
    }
    throw new Error('other processes have taken over every new spool file');
  };

  const takePending = (): PendingEntry[] => {
    let bytes = 0;
    let count = 0;
    while (count < queue.length && bytes < WRITE_BYTES_MAX) bytes += queue[count++]?.bytes.length ?? 0;
    return queue.splice(0, count);
  };

  const writeQueue = async () => {
    if (isWriting) return;
    isWriting = true;
    while (queue.length > 0) {
      const pending = takePending();
      const bytes = Buffer.concat(pending.map((entry) => entry.bytes));
      try {
        if (bytesHeld() + bytes.length > options.bytesMax) throw new SpoolFullError('the spool is full');
        await serialized(() => write(bytes));
        for (const entry of pending) entry.resolve();
      } catch (err) {
        for (const entry of pending) entry.reject(err);
      }
    }
    isWriting = false;
  };

  const takeOverOrphans = async () => {
    const owner = await starting;
    for (const name of (await readdir(directory)).sort()) {
      if (!(await owner.isOrphan(directory, name))) continue;
      const mine = owner.nextName();
      try {
        await rename(join(directory, name), join(directory, mine));
        const { size, birthtimeMs, mtimeMs } = await stat(join(directory, mine));
        closed.push({ name: mine, size, since: birthtimeMs || mtimeMs, sent: 0 });
        logger.warn({ file: name, bytes: size }, 'taking over the spool of a dead process');
      } catch {
        // Another process has taken it over first.
      }
    }
  };

  const discard = async (name: string, damagedBytes: number) => {
    const path = join(directory, name);
    if (damagedBytes === 0) return rm(path, { force: true });
    logger.error(
      { file: `${name}.damaged`, damagedBytes },
      'a spool file was damaged on disk; its readable entries are queued',
    );
    await rename(path, `${path}.damaged`);
  };

  const replayOldest = async (send: (entries: readonly SpoolEntry[]) => Promise<void>) => {
    const segment = closed[0];
    if (segment === undefined) return;
    const bytes = await readFile(join(directory, segment.name)).catch(() => Buffer.alloc(0));
    const { entries, tornBytes, damagedBytes } = decodeFrames(bytes);
    for (const chunk of chunks(entries.slice(segment.sent))) {
      await send(chunk);
      segment.sent += chunk.length;
    }
    await discard(segment.name, damagedBytes);
    closed.shift();
    logger.debug({ file: segment.name, jobs: entries.length, tornBytes }, 'spool file replayed');
  };

  const touchTimer = setInterval(() => {
    const names = [...closed.map(({ name }) => name), ...(current === undefined ? [] : [current.segment.name])];
    const time = new Date(now());
    for (const name of names) utimes(join(directory, name), time, time).catch(() => undefined);
  }, TOUCH_INTERVAL_MS);
  touchTimer.unref();

  return {
    append(entry) {
      if (isClosed) return Promise.reject(new SpoolFullError('the spool is closed'));
      const bytes = encodeFrame(entry);
      const written = new Promise<void>((resolve, reject) => queue.push({ bytes, resolve, reject }));
      void writeQueue();
      return written;
    },

    async replay(send) {
      if (isReplaying || isClosed) return;
      isReplaying = true;
      try {
        await takeOverOrphans();
        if (current !== undefined && current.segment.size() > 0) await serialized(rotate);
        while (closed.length > 0 && !isClosed) await replayOldest(send);
      } finally {
        isReplaying = false;
      }
    },

    hasEntries: () => closed.length > 0 || (current?.segment.size() ?? 0) > 0,
    oldestAt: () =>
      closed[0]?.since ?? (current !== undefined && current.segment.size() > 0 ? current.since : undefined),

    async close() {
      isClosed = true;
      clearInterval(touchTimer);
      await serialized(rotate);
    },
  };
}
