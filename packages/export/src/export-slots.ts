import { ApiError } from '@waymark/contract';
import { limitGarbage } from '@waymark/http-kit';

/** Exports that a workspace may run at the same time, in each process. */
const EXPORTS_MAX = 2;
/** Downloads of stored files that a workspace may have open at the same time, in each process. */
const DOWNLOADS_MAX = 10;
const RETRY_SECONDS = 10;
/** How long exports and downloads may run on after shutdown starts, in milliseconds: as long as other responses that a client is still reading. */
const CLOSE_GRACE_MS = 10_000;

/** The right to run an export, or to download a file. */
export interface ExportSlot {
  /** Aborts when the process shuts down. */
  readonly signal: AbortSignal;
  /** Call it when the export or download has ended; may be called more than once. */
  free(): void;
}

/** Limits how many exports of a workspace run, and how many of its stored files are downloaded, at the same time. */
export interface ExportSlots {
  /** Takes a slot for an export. @returns undefined when the workspace runs as many exports as it may */
  tryTake(workspaceId: string): ExportSlot | undefined;
  /** {@link tryTake} for a request. @throws ApiError 429 with `Retry-After` when the workspace runs as many exports as it may */
  take(workspaceId: string): ExportSlot;
  /** Takes a slot for a download. @throws ApiError 429 with `Retry-After` when the workspace has as many downloads open as it may */
  takeDownload(workspaceId: string): ExportSlot;
  /** Ends all exports and downloads after ten seconds. Call it when shutdown starts; may be called more than once. */
  close(): void;
}

/** The part of a route's dependencies that exports and downloads need. */
export interface ExportDeps {
  /** Limits the exports and downloads of a workspace; share it between all services of the process. */
  readonly exportSlots: ExportSlots;
}

/**
 * @param max how many a workspace may have at the same time
 * @returns a function that takes one for a workspace: it returns the function that gives it back, which may be called more than once, or
 *   undefined when the workspace has as many as it may
 */
function createCounts(max: number): (workspaceId: string) => (() => void) | undefined {
  const running = new Map<string, number>();
  return (workspaceId) => {
    const count = running.get(workspaceId) ?? 0;
    if (count >= max) return undefined;
    running.set(workspaceId, count + 1);
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      const left = (running.get(workspaceId) ?? 1) - 1;
      if (left === 0) running.delete(workspaceId);
      else running.set(workspaceId, left);
    };
  };
}

function tooMany(what: string): ApiError {
  const message = `This workspace ${what}. Please try again when one has ended.`;
  return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** Creates the slots of a process. Share them between all routes that export. */
export function createExportSlots({ closeGraceMs = CLOSE_GRACE_MS } = {}): ExportSlots {
  const countExport = createCounts(EXPORTS_MAX);
  const countDownload = createCounts(DOWNLOADS_MAX);
  const shutdown = new AbortController();

  function tryTake(workspaceId: string): ExportSlot | undefined {
    const end = countExport(workspaceId);
    if (end === undefined) return undefined;
    const endLimit = limitGarbage();
    return {
      signal: shutdown.signal,
      free() {
        endLimit();
        end();
      },
    };
  }

  return {
    tryTake,
    take(workspaceId) {
      const slot = tryTake(workspaceId);
      if (slot !== undefined) return slot;
      throw tooMany(`runs ${EXPORTS_MAX} exports already, which is the most that it may run`);
    },
    takeDownload(workspaceId) {
      const free = countDownload(workspaceId);
      if (free !== undefined) return { signal: shutdown.signal, free };
      throw tooMany(`has ${DOWNLOADS_MAX} downloads open already, which is the most that it may have`);
    },
    close() {
      setTimeout(() => shutdown.abort(), closeGraceMs).unref();
    },
  };
}
