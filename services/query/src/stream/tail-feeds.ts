import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@waymark/contract';
import type { OpenStream, TailPosition, Tails } from '@waymark/event-queue';
import { StreamEnd } from './stream-end.js';
import type { StreamTimes } from './stream-times.js';
import { createWorkspaceTail, type WorkspaceTail } from './workspace-tail.js';

/** How many streams may be open, in all processes together. */
const LIMITS = { perKey: 20, perWorkspace: 100 };
const RETRY_AFTER_SECONDS = 15;
const REFUSALS = {
  key: `An API key may have ${LIMITS.perKey} streams open at a time. Close one first.`,
  workspace: `A workspace may have ${LIMITS.perWorkspace} streams open at a time. Close one first.`,
} as const;

/** A stream's access to the tail of its workspace. */
export interface OpenedTail {
  readonly tail: WorkspaceTail;
  /** The end of the tail when the stream was opened: every event that is acknowledged later comes after it. */
  readonly end: TailPosition;
  close(): void;
}

/** A stream that is to be opened. */
export interface OpenTailRequest {
  /** Number of the workspace. */
  readonly workspace: string;
  readonly keyId: string;
  /** Called when the tail cannot be followed any more. */
  readonly onEnd: (end: StreamEnd) => void;
}

/** Follows the tails of one queue shard's workspaces that have streams in this process. Polls Redis only while there are streams. */
export interface TailFeeds {
  /** Opens the tail of a workspace for a stream. @throws ApiError 429 at a limit, 500 when Redis does not answer */
  open(request: OpenTailRequest): Promise<OpenedTail>;
  /** Stops polling. All streams must have ended before. */
  close(): void;
}

/** A stream of this process. */
interface LocalStream extends OpenStream {
  readonly onEnd: (end: StreamEnd) => void;
}

/** A tail that is followed, and the streams that need it. */
interface Followed {
  readonly tail: WorkspaceTail;
  readonly streams: Set<LocalStream>;
}

/** @param tails of the queue shard */
export function createTailFeeds(tails: Tails, times: StreamTimes): TailFeeds {
  /** By number of the workspace. */
  const followed = new Map<string, Followed>();
  const closing = new AbortController();
  const { signal } = closing;
  let isPolling = false;

  /** Ends the streams of a workspace, whose tail cannot be followed any more. */
  function endStreams(workspace: string): void {
    const streams = followed.get(workspace)?.streams ?? [];
    // The next stream opens the tail anew. Clients that resume get the missing events, or a `gap`.
    followed.delete(workspace);
    for (const stream of streams) stream.onEnd(new StreamEnd('unavailable'));
  }

  /** Reads the new entries of all tails. Streams of a tail that Redis has lost end. */
  async function poll(): Promise<void> {
    const heads = new Map([...followed].map(([workspace, { tail }]) => [workspace, tail.head()]));
    const polled = new Map(followed);
    for (const [workspace, entries] of await tails.read(heads)) {
      const feed = polled.get(workspace);
      // A stream may have opened the tail anew since the read was sent: then the result does not apply to it.
      if (feed?.tail.append(entries) === false && followed.get(workspace) === feed) endStreams(workspace);
    }
  }

  /** Renews the lease of a stream. If Redis has lost the tail meanwhile, its streams end. */
  async function renew(stream: LocalStream): Promise<void> {
    const feed = followed.get(stream.workspace);
    const known = feed?.tail.head();
    const { epoch, number } = await tails.renew(stream);
    const isSame = known === undefined || (epoch === known.epoch && number >= known.number);
    if (!isSame && followed.get(stream.workspace) === feed) endStreams(stream.workspace);
  }

  /** Renews all leases. A failure is ignored: the next renewal follows, and in an outage polling fails too, which ends the streams. */
  function renewAll(): void {
    for (const { streams } of followed.values()) for (const stream of streams) renew(stream).catch(() => undefined);
  }

  async function keepPolling(): Promise<void> {
    let answeredMs = performance.now();
    let renewedMs = answeredMs;
    while (followed.size > 0 && !signal.aborted) {
      if (performance.now() - renewedMs >= times.renewMs) {
        renewedMs = performance.now();
        renewAll();
      }
      try {
        await poll();
        answeredMs = performance.now();
      } catch {
        // The connection logs the outage. Streams end only when it lasts.
        if (performance.now() - answeredMs > times.giveUpAfterMs)
          for (const workspace of [...followed.keys()]) endStreams(workspace);
      }
      await delay(times.pollMs, undefined, { signal }).catch(() => undefined);
    }
    isPolling = false;
  }

  async function openStream(stream: LocalStream): Promise<TailPosition> {
    let opened: TailPosition | 'key' | 'workspace';
    try {
      opened = await tails.open(stream, LIMITS);
    } catch (err) {
      // Redis may have opened it although its answer, or the confirmation of replicas, is missing. It would count until its lease expires.
      tails.close(stream).catch(() => undefined);
      throw new ApiError('internal_server_error', 'The stream cannot be opened at the moment. Please try again.', {
        cause: err,
        retryAfterSeconds: 1,
      });
    }
    if (opened !== 'key' && opened !== 'workspace') return opened;
    throw new ApiError('rate_limit_exceeded', REFUSALS[opened], { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  function follow(stream: LocalStream, end: TailPosition): Followed {
    const { workspace } = stream;
    // Another epoch: Redis has lost the tail that the other streams follow, and this stream has begun a new one.
    if (followed.get(workspace)?.tail.head().epoch !== end.epoch) endStreams(workspace);
    const entry = followed.get(workspace) ?? {
      tail: createWorkspaceTail(end, async (after, entriesMax) => {
        return (await tails.read(new Map([[workspace, after]]), entriesMax)).get(workspace) ?? [];
      }),
      streams: new Set<LocalStream>(),
    };
    entry.streams.add(stream);
    followed.set(workspace, entry);
    if (!isPolling) {
      isPolling = true;
      void keepPolling();
    }
    return entry;
  }

  return {
    async open({ workspace, keyId, onEnd }) {
      const stream: LocalStream = { workspace, name: `${keyId}:${randomUUID()}`, onEnd };
      const end = await openStream(stream);
      const { tail, streams } = follow(stream, end);
      return {
        tail,
        end,
        close() {
          streams.delete(stream);
          if (streams.size === 0 && followed.get(workspace)?.streams === streams) followed.delete(workspace);
          // If this fails, the lease expires within a minute.
          tails.close(stream).catch(() => undefined);
        },
      };
    },

    close: () => closing.abort(),
  };
}
