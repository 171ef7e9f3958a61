import { ApiError } from '@waymark/contract';

/** Files that are received at the same time, of a workspace and in this process. */
const WORKSPACE_MAX = 2;
const PROCESS_MAX = 8;
const RETRY_SECONDS = 10;

/** Limits how many files arrive at the same time, because their sizes are known only when they are here. */
export interface UploadSlots {
  /** @returns the function that frees the slot. @throws ApiError 429 when all are taken */
  take(workspaceId: string): () => void;
  /** How many files are arriving. */
  count(): number;
}

export function createUploadSlots(): UploadSlots {
  const running = new Map<string, number>();
  let all = 0;
  return {
    take(workspaceId) {
      const own = running.get(workspaceId) ?? 0;
      if (own >= WORKSPACE_MAX || all >= PROCESS_MAX) {
        const whose = own >= WORKSPACE_MAX ? `${WORKSPACE_MAX} files of this workspace` : `${PROCESS_MAX} files`;
        const message = `The server is receiving ${whose} already, the most at the same time. Please try again later.`;
        throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
      }
      running.set(workspaceId, own + 1);
      all++;
      return () => {
        all--;
        if (own === 0 && running.get(workspaceId) === 1) running.delete(workspaceId);
        else running.set(workspaceId, (running.get(workspaceId) ?? 1) - 1);
      };
    },
    count: () => all,
  };
}
