import { ApiError } from '@waymark/contract';

/** Exports that a workspace may run at the same time, in each process. */
export const EXPORTS_MAX = 2;
const RETRY_SECONDS = 10;

/** The part of a route's dependencies that exports need. */
export interface ExportDeps {
  /** Limits the exports of a workspace; share it between all services of the process. */
  readonly exportSlots: ExportSlots;
}

/** Limits how many exports of a workspace run at the same time. */
export interface ExportSlots {
  /**
   * Takes a slot.
   *
   * @returns frees the slot; may be called more than once
   * @throws ApiError 429 with `Retry-After` when the workspace has no free slot
   */
  take(workspaceId: string): () => void;
}

/** Create one for each process and share it between all routes that export. */
export function createExportSlots(): ExportSlots {
  const taken = new Map<string, Set<symbol>>();
  return {
    take(workspaceId) {
      const running = taken.get(workspaceId) ?? new Set();
      if (running.size >= EXPORTS_MAX) {
        throw new ApiError(
          'rate_limit_exceeded',
          `This workspace runs ${EXPORTS_MAX} exports already, the most at the same time. Please try again when one has ended.`,
          { retryAfterSeconds: RETRY_SECONDS },
        );
      }
      const slot = Symbol('export');
      taken.set(workspaceId, running.add(slot));
      return () => {
        running.delete(slot);
        if (running.size === 0 && taken.get(workspaceId) === running) taken.delete(workspaceId);
      };
    },
  };
}
