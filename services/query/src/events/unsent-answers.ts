import { ApiError } from '@waymark/contract';
import { onReplyClose } from '@waymark/http-kit';
import type { FastifyReply } from 'fastify';

/** Limits on the answers that clients have not taken yet, in bytes. */
export interface UnsentLimits {
  /** Of all workspaces together. */
  readonly bytesMax: number;
  /** Of one workspace. */
  readonly bytesPerWorkspaceMax: number;
}

/** Three pages of the largest events for one workspace, and as much for others: a process may have 512 MB (deploy/kubernetes/query.yaml). */
const LIMITS: UnsentLimits = { bytesMax: 150_000_000, bytesPerWorkspaceMax: 75_000_000 };
const RETRY_SECONDS = 1;

/**
 * Counts the bytes of answers that are in memory until their clients have taken them. A page of large events has 25 MB, and a client that
 * reads slowly may take two minutes for it: enough of them would take all the memory of the process.
 */
export interface UnsentAnswers {
  /** Call it before an answer is read. @throws ApiError 429 while the answers of the workspace, or of all, have too many bytes */
  check(workspaceId: string): void;
  /** Counts an answer until it is sent or its client has disconnected. */
  add(workspaceId: string, reply: FastifyReply, bytes: number): void;
}

/** Creates the count of a process. */
export function createUnsentAnswers({ bytesMax, bytesPerWorkspaceMax }: UnsentLimits = LIMITS): UnsentAnswers {
  const unsent = new Map<string, number>();
  let total = 0;

  function change(workspaceId: string, bytes: number): void {
    const left = (unsent.get(workspaceId) ?? 0) + bytes;
    if (left === 0) unsent.delete(workspaceId);
    else unsent.set(workspaceId, left);
    total += bytes;
  }

  return {
    check(workspaceId) {
      const own = unsent.get(workspaceId) ?? 0;
      // A workspace without such answers is never refused for those of others.
      if (own < bytesPerWorkspaceMax && (own === 0 || total < bytesMax)) return;
      const message = 'Earlier answers for this workspace have not been read yet. Please read them, and try again.';
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
    },
    add(workspaceId, reply, bytes) {
      change(workspaceId, bytes);
      onReplyClose(reply, () => change(workspaceId, -bytes));
    },
  };
}
