import { ApiError } from '@waymark/contract';

/** Maximum number of files that a workspace sends, and that this process receives, at the same time. */
const WORKSPACE_MAX = 2;
const PROCESS_MAX = 8;
const RETRY_SECONDS = 10;

/** Limits how many files are received at the same time, because the size of a file is only known at its end. */
export interface UploadSlots {
  /** Takes a slot. @returns a function that frees it, which may be called more than once; @throws ApiError 429 when all are taken */
  take(workspaceId: string): () => void;
  /** Number of files that are being received. */
  count(): number;
}

/** Creates the {@link UploadSlots} of a process. */
export function createUploadSlots(): UploadSlots {
  /** The files that are being received, at most {@link PROCESS_MAX}. */
  const running = new Set<{ readonly workspaceId: string }>();
  return {
    take(workspaceId) {
      const own = [...running].filter((file) => file.workspaceId === workspaceId).length;
      if (own >= WORKSPACE_MAX || running.size >= PROCESS_MAX) {
        const whose = own >= WORKSPACE_MAX ? `${WORKSPACE_MAX} files of this workspace` : `${PROCESS_MAX} files`;
        const message = `The server is receiving ${whose} already, which is the most that it takes at the same time. Please try again later.`;
        throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
      }
      const file = { workspaceId };
      running.add(file);
      return () => {
        running.delete(file);
      };
    },
    count: () => running.size,
  };
}
