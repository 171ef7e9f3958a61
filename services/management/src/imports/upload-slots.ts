import { ApiError } from '@waymark/contract';

/** Maximum number of files that a workspace sends, and that this process receives, at the same time. */
const WORKSPACE_MAX = 2;
const PROCESS_MAX = 8;
const RETRY_SECONDS = 10;

/** Limits how many files are received at the same time, because the size of a file is only known at its end. */
export interface UploadSlots {
  /** Takes a slot. @returns a function that frees it, to be called once; @throws ApiError 429 when all are taken */
  take(workspaceId: string): () => void;
  /** Number of files that are being received. */
  count(): number;
}

/** Creates the {@link UploadSlots} of a process. */
export function createUploadSlots(): UploadSlots {
  const running = new Map<string, number>();
  let all = 0;
  return {
    take(workspaceId) {
      const own = running.get(workspaceId) ?? 0;
      if (own >= WORKSPACE_MAX || all >= PROCESS_MAX) {
        const whose = own >= WORKSPACE_MAX ? `${WORKSPACE_MAX} files of this workspace` : `${PROCESS_MAX} files`;
        const message = `The server is receiving ${whose} already, which is the most that it takes at the same time. Please try again later.`;
        throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
      }
      running.set(workspaceId, own + 1);
      all++;
      return () => {
        all--;
        const left = (running.get(workspaceId) ?? 1) - 1;
        if (left === 0) running.delete(workspaceId);
        else running.set(workspaceId, left);
      };
    },
    count: () => all,
  };
}
