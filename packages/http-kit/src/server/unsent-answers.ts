import { ApiError } from '@waymark/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onReplyClose } from '../requests/on-reply-close.js';

/** Limits on the memory of answers that clients have not taken yet, in bytes. */
export interface UnsentLimits {
  /** Of all workspaces together. */
  readonly bytesMax: number;
  /** Of one workspace. */
  readonly bytesPerWorkspaceMax: number;
  /** Of one workspace whatever the others have: small answers do not wait for large ones of others. */
  readonly bytesAlwaysAllowed: number;
}

/** A process may have 512 MB (deploy/kubernetes), and Node then limits the heap to half of it. */
const LIMITS: UnsentLimits = { bytesMax: 150_000_000, bytesPerWorkspaceMax: 75_000_000, bytesAlwaysAllowed: 1_000_000 };
const RETRY_SECONDS = 1;

const WIDE = /[\u0100-\uffff]/;
/** Shorter texts count as wide: they are many, and take little. */
const CHARS_CHECKED = 4096;

/** The bytes of a text in memory: V8 stores one byte for each character, or two if one of them is outside Latin-1. */
export const memoryOf = (text: string): number =>
  text.length < CHARS_CHECKED || WIDE.test(text) ? 2 * text.length : text.length;

/** The memory that an answer takes until its client has taken it. */
export interface UnsentAnswer {
  /** Sets it to another number of bytes, without a check. */
  resize(bytes: number): void;
}

/**
 * Counts the memory that answers take until their clients have taken them. The events of a page may have 25 MB, the groups of analytics 40 MB, a page
 * of domains with their files 60 MB, and a client that reads slowly may take minutes for them: enough of them would take all the memory of the process.
 */
export interface UnsentAnswers {
  /** Call it before an answer is read. @throws ApiError 429 while the answers of the workspace, or of all, take too much memory */
  check(workspaceId: string): void;
  /**
   * Counts an answer until it is sent or its client has disconnected. Call it as soon as its size is known.
   *
   * @throws ApiError 429 when it would take too much memory beside the others
   */
  reserve(workspaceId: string, reply: FastifyReply, bytes: number): UnsentAnswer;
  /**
   * Counts an answer that is in memory as a whole until it is sent or its client has disconnected, unless its route has reserved memory for it.
   * One to a request other than `GET` is never refused: the request has taken effect, and must not be repeated.
   *
   * @throws ApiError 429 like {@link reserve}
   */
  addWhole(request: FastifyRequest, reply: FastifyReply, body: string | Buffer): void;
}

/** Creates the count of a process. */
export function createUnsentAnswers(limits: UnsentLimits = LIMITS): UnsentAnswers {
  const { bytesMax, bytesPerWorkspaceMax, bytesAlwaysAllowed } = limits;
  const unsent = new Map<string, number>();
  const counted = new WeakSet<FastifyReply>();
  let total = 0;

  function change(workspaceId: string, bytes: number): void {
    const left = (unsent.get(workspaceId) ?? 0) + bytes;
    if (left === 0) unsent.delete(workspaceId);
    else unsent.set(workspaceId, left);
    total += bytes;
  }

  /** @param bytes of one more answer */
  function checkRoom(workspaceId: string, bytes: number): void {
    const own = unsent.get(workspaceId) ?? 0;
    // A workspace without such answers, or with small ones only, is never refused for those of others.
    if (
      own === 0 ||
      own + bytes <= bytesAlwaysAllowed ||
      (own + bytes <= bytesPerWorkspaceMax && total + bytes <= bytesMax)
    )
      return;
    const message = 'Earlier answers for this workspace have not been read yet. Please read them, and try again.';
    throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
  }

  function add(workspaceId: string, reply: FastifyReply, bytes: number): UnsentAnswer {
    counted.add(reply);
    let size = 0;
    let isOver = false;
    const resize = (to: number) => {
      change(workspaceId, to - size);
      size = to;
    };
    resize(bytes);
    onReplyClose(reply, () => {
      resize(0);
      isOver = true;
    });
    return {
      resize(to) {
        if (!isOver) resize(to);
      },
    };
  }

  return {
    check: (workspaceId) => checkRoom(workspaceId, 1),
    reserve(workspaceId, reply, bytes) {
      checkRoom(workspaceId, bytes);
      return add(workspaceId, reply, bytes);
    },
    addWhole({ method, workspace }, reply, body) {
      // Absent in requests without a key.
      if (!workspace || counted.has(reply)) return;
      const bytes = typeof body === 'string' ? memoryOf(body) : body.length;
      if (method === 'GET') checkRoom(workspace.id, bytes);
      add(workspace.id, reply, bytes);
    },
  };
}
