import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../redis/deadline.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import { createSpoolOwner, isSpoolFile, type SpoolOwner } from './file-owner.js';
import { encodeFrame, type SpoolEntry } from './frame.js';
import { readFrames, UnreadableSpoolError } from './frame-reader.js';
import { type OpenSegment, openSegment, statIfPresent } from './segment.js';

/** The spool has reached its size limit or is closed; the entry was not written. */
export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError';
}

export interface SpoolOptions {
  readonly directory: string;
  /** Limit on the bytes of this process's files, including those taken over. */
  readonly bytesMax: number;
  /** Returns the bytes of other spools, which count towards the limit; 0 by default. */
  readonly bytesElsewhere?: () => number;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

/** Append-only files that hold jobs while Redis is unavailable or full. */
export interface Spool {
  /** Resolves when the entry is synced to disk. @throws SpoolFullError; the error of the file system */
  append(entry: SpoolEntry): Promise<void>;
  /**
   * Takes over the files of dead processes, passes the entries of all files to `send`, and deletes each file once its entries are sent. If
   * `send` rejects, this rejects too, and the next replay resumes at the same entries. If this process dies, the process that takes the
   * file over sends its entries from the start. That is safe, because entries keep their job ids.
   */
  replay(send: (entries: readonly SpoolEntry[]) => Promise<void>): Promise<void>;
  /** Whether this process has entries to replay. */
  hasEntries(): boolean;
  /** Waits until an entry is written. Resolves also after `milliseconds`, and when `signal` is aborted. */
  waitForEntries(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Bytes of this process's files, including those taken over. */
  bytesOnDisk(): number;
  /**
   * When the oldest file of the directory was created, epoch milliseconds, including those of the other processes that share it; 0 if the
   * file system does not store when one of these was created; undefined without entries. @throws the error of the file system
   */
  oldestMs(): Promise<number | undefined>;
  close(): Promise<void>;
}

interface ClosedSegment {
  readonly name: string;
  readonly size: number;
  /** When it was created, epoch milliseconds; 0 if the file system of a file that was taken over does not store this. */
  readonly since: number;
  /** Offset after the entries already sent, at which an interrupted replay resumes. */
  position: number;
  /** Number of entries already sent. */
  sent: number;
  /** Invalid bytes before the position: corruption on disk. */
  damagedBytes: number;
}

function closedSegment(name: string, size: number, since: number): ClosedSegment {
  return { name, size, since, position: 0, sent: 0, damagedBytes: 0 };
}

interface PendingEntry {
  readonly bytes: Buffer;
  resolve(): void;
  reject(err: unknown): void;
}

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const WRITE_BYTES_MAX = 8 * 1024 * 1024;
const TOUCH_INTERVAL_MS = 15_000;
const TAKEN_OVER_RETRIES = 3;
/** A file that cannot be read is tried again at each replay, which is several times a second. */
const UNREADABLE_LOG_INTERVAL_MS = 60_000;

/**
 * When each file with entries in the directory was created, epoch milliseconds; 0 on file systems that do not store this. Empty if the
 * directory does not exist. @throws any other error of the file system
 */
async function creationTimes(directory: string): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  const seen = new Set<string>();
  let isComplete = (await statIfPresent(directory)) === undefined;
  while (!isComplete) {
    isComplete = true;
    for (const name of await readdir(directory)) {
      if (seen.has(name) || !isSpoolFile(name)) continue;
      seen.add(name);
      const file = await statIfPresent(join(directory, name));
      // Another process may have taken the file over since the list was read, and so have given it a name that is not in the list.
      if (file === undefined) isComplete = false;
      else if (file.size > 0) times.set(name, file.birthtimeMs);
    }
  }
  return times;
}

/** Opens the spool of this process, in a directory that it may share with other processes. */
export function createSpool(options: SpoolOptions): Spool {
  const { directory, logger, now, bytesElsewhere = () => 0 } = options;
  const logUnreadable = throttled((context, message) => logger.error(context, message), UNREADABLE_LOG_INTERVAL_MS);
  const queue: PendingEntry[] = [];
  const closed: ClosedSegment[] = [];
  let current: { readonly segment: OpenSegment; readonly since: number } | undefined;
  let isWriting = false;
  let isReplaying = false;
  let isClosed = false;
  let lastWrite: Promise<unknown> = Promise.resolve();
  /** Aborted when an entry has been written. */
  let written = new AbortController();

  let starting: Promise<SpoolOwner> | undefined;
  /** Creates the directory at the first call. After a failure the next call tries again. */
  const start = (): Promise<SpoolOwner> => {
    starting ??= mkdir(directory, { recursive: true, mode: 0o700 })
      .then(() => createSpoolOwner(now))
      .catch((err: unknown) => {
        starting = undefined;
        throw err;
      });
    return starting;
  };
  start().catch((err: unknown) => logger.error({ err, directory }, 'the spool directory cannot be used'));

  /** Runs writes and rotations one after another, so that no file is closed during a write. */
  const serialized = <T>(work: () => Promise<T>): Promise<T> => {
    const result = lastWrite.then(work);
    lastWrite = result.catch(() => undefined);
    return result;
  };

  const bytesOnDisk = () => closed.reduce((sum, { size }) => sum + size, 0) + (current?.segment.size() ?? 0);

  const rotate = async () => {
    if (current === undefined) return;
    const { segment, since } = current;
    current = undefined;
    if (segment.size() > 0) closed.push(closedSegment(segment.name, segment.size(), since));
    await segment.close();
  };

  const write = async (bytes: Buffer): Promise<void> => {
    const owner = await start();
    for (let attempt = 0; attempt < TAKEN_OVER_RETRIES; attempt++) {
      if (current !== undefined && current.segment.size() >= SEGMENT_BYTES_MAX) await rotate();
      current ??= { segment: await openSegment(directory, owner.nextName()), since: now() };
      const { segment } = current;
      try {
        if (await segment.append(bytes)) return;
        // Another process has taken the file over and may have read it before these bytes came, so a new file gets them too.
        current = undefined;
        await segment.close();
      } catch (err) {
        // The failed write may have left an incomplete entry, which must be the last of its file.
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
        if (bytesElsewhere() + bytesOnDisk() + bytes.length > options.bytesMax) {
          throw new SpoolFullError('the spool is full');
        }
        await serialized(() => write(bytes));
        for (const entry of pending) entry.resolve();
        written.abort();
        written = new AbortController();
      } catch (err) {
        for (const entry of pending) entry.reject(err);
      }
    }
    isWriting = false;
  };

  const takeOverOrphans = async () => {
    const owner = await start();
    for (const name of (await readdir(directory)).sort()) {
      if (!(await owner.isOrphan(directory, name))) continue;
      const mine = owner.nextName();
      try {
        const file = await stat(join(directory, name));
        await rename(join(directory, name), join(directory, mine));
        closed.push(closedSegment(mine, file.size, file.birthtimeMs));
        logger.warn({ file: name, bytes: file.size }, 'taking over the spool of a dead process');
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
      'a spool file was damaged on disk, or has entries of a later release; the entries that can be read are queued',
    );
    await rename(path, `${path}.damaged`);
  };

  /** Undefined if the file does not exist: another process has taken it over. @throws UnreadableSpoolError */
  const openFile = async (name: string): Promise<FileHandle | undefined> => {
    try {
      return await open(join(directory, name));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new UnreadableSpoolError('a spool file cannot be opened', { cause: err });
    }
  };

  /** Sends the entries of a file that are not sent yet, and deletes it. @throws UnreadableSpoolError; the error of `send` */
  const replayFile = async (
    segment: ClosedSegment,
    send: (entries: readonly SpoolEntry[]) => Promise<void>,
  ): Promise<void> => {
    const handle = await openFile(segment.name);
    if (handle === undefined) return;
    let tornBytes = 0;
    try {
      for await (const chunk of readFrames(handle, segment.position)) {
        if (chunk.entries.length > 0) await send(chunk.entries);
        segment.position = chunk.end;
        segment.sent += chunk.entries.length;
        segment.damagedBytes += chunk.damagedBytes;
        tornBytes = chunk.tornBytes;
      }
    } finally {
      await handle.close();
    }
    await discard(segment.name, segment.damagedBytes);
    logger.debug({ file: segment.name, jobs: segment.sent, tornBytes }, 'spool file replayed');
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
      const stored = new Promise<void>((resolve, reject) => queue.push({ bytes, resolve, reject }));
      void writeQueue();
      return stored;
    },

    async replay(send) {
      if (isReplaying || isClosed) return;
      isReplaying = true;
      try {
        await takeOverOrphans();
        if (current !== undefined && current.segment.size() > 0) await serialized(rotate);
        // Files that are closed meanwhile are left to the next replay.
        for (const segment of [...closed]) {
          if (isClosed) return;
          try {
            await replayFile(segment, send);
          } catch (err) {
            if (!(err instanceof UnreadableSpoolError)) throw err;
            logUnreadable({ err, file: segment.name }, 'a spool file cannot be read; it is kept and tried again');
            continue;
          }
          closed.splice(closed.indexOf(segment), 1);
        }
      } finally {
        isReplaying = false;
      }
    },

    waitForEntries: (milliseconds, signal) => pause(milliseconds, AbortSignal.any([signal, written.signal])),
    bytesOnDisk,
    hasEntries: () => closed.length > 0 || (current?.segment.size() ?? 0) > 0,

    async oldestMs() {
      // Read first, so that a file that this process takes over meanwhile is among its own or in the list.
      const times = await creationTimes(directory);
      for (const { name, since } of closed) times.set(name, since);
      if (current !== undefined && current.segment.size() > 0) times.set(current.segment.name, current.since);
      return times.size === 0 ? undefined : Math.min(...times.values());
    },

    async close() {
      isClosed = true;
      clearInterval(touchTimer);
      await serialized(rotate);
    },
  };
}
