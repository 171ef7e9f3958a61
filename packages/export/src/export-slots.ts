import { ApiError } from '@waymark/contract';
import { limitGarbage } from '@waymark/http-kit';

/** Exports that a workspace may run at the same time, in each process. */
const EXPORTS_MAX = 2;
const RETRY_SECONDS = 10;
/** How long exports may run on after shutdown starts, in milliseconds: as long as other responses that a client is still reading. */
const CLOSE_GRACE_MS = 10_000;

/** The right to run an export. */
export interface ExportSlot {
  /** Aborts when the process shuts down. */
  readonly signal: AbortSignal;
  /** Call it when the export has ended; may be called more than once. */
  free(): void;
}

/** Limits how many exports of a workspace run at the same time. */
export interface ExportSlots {
  /** @returns undefined when the workspace runs as many exports as it may */
  tryTake(workspaceId: string): ExportSlot | undefined;
  /** {@link tryTake} for a request. @throws ApiError 429 with `Retry-After` when the workspace runs as many exports as it may */
  take(workspaceId: string): ExportSlot;
  /** Ends all exports after ten seconds. Call it when shutdown starts; may be called more than once. */
  close(): void;
}

/** The part of a route's dependencies that exports need. */
export interface ExportDeps {
  /** Limits the exports of a workspace; share it between all services of the process. */
  readonly exportSlots: ExportSlots;
}

/** Creates the slots of a process. Share them between all routes that export. */
export function createExportSlots({ closeGraceMs = CLOSE_GRACE_MS } = {}): ExportSlots {
  const running = new Map<string, number>();
  const shutdown = new AbortController();

  function tryTake(workspaceId: string): ExportSlot | undefined {
    const count = running.get(workspaceId) ?? 0;
    if (count >= EXPORTS_MAX) return undefined;
    const endLimit = limitGarbage();
    running.set(workspaceId, count + 1);
    let isFree = false;
    return {
      signal: shutdown.signal,
      free() {
        if (isFree) return;
        isFree = true;
        endLimit();
        const left = (running.get(workspaceId) ?? 1) - 1;
        if (left === 0) running.delete(workspaceId);
        else running.set(workspaceId, left);
      },
    };
  }

  return {
    tryTake,
    take(workspaceId) {
      const slot = tryTake(workspaceId);
      if (slot !== undefined) return slot;
      const message = `This workspace runs ${EXPORTS_MAX} exports already, which is the most that it may run. Please try again when one has ended.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
    },
    close() {
      setTimeout(() => shutdown.abort(), closeGraceMs).unref();
    },
  };
}
