import type { PassThrough } from 'node:stream';
import type { TailPosition } from '@waymark/event-queue';
import { ClientDisconnectedError } from '@waymark/http-kit';
import { createEventOutput, StalledStreamError } from './event-output.js';
import { byeFrame, heartbeatFrame } from './frames.js';
import type { ReadFrames } from './read-frames.js';
import { runStream } from './run-stream.js';
import { createSharedReader, type SharedReader } from './shared-reader.js';
import { isRefusedForGood, StreamEnd } from './stream-end.js';
import { jitter, RETRY_MS, type StreamTimes } from './stream-times.js';
import type { Subscription } from './subscription.js';
import type { OpenedTail, TailFeeds } from './tail-feeds.js';
import type { Slice, WorkspaceTail } from './workspace-tail.js';

/** A checked request for a stream. */
export interface StreamRequest {
  readonly subscription: Subscription;
  readonly workspaceNumber: string;
  readonly keyId: string;
  /** The position after which to begin; undefined to begin at the end of the tail. */
  readonly resume: TailPosition | undefined;
  /** Rejects with an ApiError when the key may not have this stream any more. */
  readonly check: () => Promise<void>;
  /** Called with errors that are no fault of the client. */
  readonly onError: (err: unknown) => void;
}

export interface StreamsDeps {
  /** The feeds of the queue shard that a workspace belongs to. @throws ApiError 500 */
  readonly feedOf: (workspaceNumber: string) => Promise<TailFeeds>;
  readonly readFrames: ReadFrames;
  readonly times: StreamTimes;
}

/** A stream that is being sent. */
interface RunningStream {
  readonly workspaceNumber: string;
  /** Checks the key, and ends the stream if the key may not have it any more. */
  recheck(): void;
  end(reason: StreamEnd): void;
}

/** The open streams of this process. */
export interface Streams {
  /** @returns the body of the response @throws ApiError 429 at a limit, 500 when Redis does not answer */
  open(request: StreamRequest): Promise<PassThrough>;
  /** Checks now whether the keys of a workspace may still have their streams. */
  recheck(workspaceNumber: string): void;
  /** Ends all streams with a `bye`, and those that are opened from now on at once. */
  close(): void;
}

/** The reader for equal subscriptions, and the functions that end the streams that use it. */
interface Shared {
  readonly reader: SharedReader;
  readonly members: Set<(end: StreamEnd) => void>;
}

/** Creates the streams of a process; none is open yet. */
export function createStreams({ feedOf, readFrames, times }: StreamsDeps): Streams {
  const open = new Set<RunningStream>();
  let isClosed = false;
  /** Shared readers, by the tail that they read and the key of the subscription. */
  const readersOf = new WeakMap<WorkspaceTail, Map<string, Shared>>();

  /** Creates the shared reader of a subscription. */
  function share(subscription: Subscription, tail: WorkspaceTail, readers: Map<string, Shared>): Shared {
    const members: Shared['members'] = new Set();
    const reader = createSharedReader({
      tail,
      giveUpAfterMs: times.giveUpAfterMs,
      framesKeptMs: times.framesKeptMs,
      read: ({ entries }) => readFrames(subscription, entries),
      onEnd: (reason) => {
        // Streams that are opened from now on get a new reader, which tries again.
        readers.delete(subscription.key);
        for (const endMember of [...members]) endMember(reason);
      },
    });
    const shared = { reader, members };
    readers.set(subscription.key, shared);
    return shared;
  }

  /** Joins a stream to the reader of its subscription. @param end ends the stream if the reader fails */
  function join(subscription: Subscription, { tail }: OpenedTail, end: (reason: StreamEnd) => void) {
    const { key } = subscription;
    const readers = readersOf.get(tail) ?? new Map<string, Shared>();
    readersOf.set(tail, readers);
    const shared = readers.get(key) ?? share(subscription, tail, readers);
    const { reader, members } = shared;
    members.add(end);
    return {
      reader,
      leave() {
        members.delete(end);
        if (members.size > 0) return;
        reader.stop();
        if (readers.get(key) === shared) readers.delete(key);
      },
    };
  }

  function start(request: StreamRequest, opened: OpenedTail, ending: AbortController): PassThrough {
    const { subscription, workspaceNumber, resume, check, onError } = request;
    const { signal } = ending;
    const end = (reason: StreamEnd) => ending.abort(reason);
    const output = createEventOutput(times.stalledMs);
    const { reader, leave } = join(subscription, opened, end);
    let position = resume ?? opened.end;
    const recheck = () => {
      // Only a refusal ends the stream, not an error of the stores.
      check().catch((err: unknown) => isRefusedForGood(err) && end(new StreamEnd('key', { cause: err })));
    };
    const timers = [
      setInterval(() => output.writeIfIdle(heartbeatFrame(position)), times.heartbeatMs),
      setInterval(recheck, times.recheckMs),
      setTimeout(() => end(new StreamEnd('lifetime')), jitter(times.lifetimeMs)),
    ];
    const stream = { workspaceNumber, recheck, end };
    open.add(stream);
    // The key may have lost its access while the stream was being opened.
    recheck();
    output.body.once('close', () => ending.abort(new ClientDisconnectedError()));

    const finish = (err: unknown) => {
      for (const timer of timers) clearTimeout(timer);
      open.delete(stream);
      leave();
      opened.close();
      if (err instanceof ClientDisconnectedError || err instanceof StalledStreamError) {
        output.body.destroy();
        return;
      }
      const { reason, cause } = err instanceof StreamEnd ? err : new StreamEnd('unavailable', { cause: err });
      if (reason === 'unavailable' && cause !== undefined) onError(cause);
      output.end(byeFrame(position, reason, jitter(RETRY_MS)));
    };
    runStream(position, {
      output,
      tail: opened.tail,
      shared: reader,
      giveUpAfterMs: times.giveUpAfterMs,
      framesKeptMs: times.framesKeptMs,
      signal,
      openedAt: opened.end,
      read: ({ entries }: Slice) => readFrames(subscription, entries),
      onPosition: (sent) => {
        position = sent;
      },
    }).catch(finish);
    return output.body;
  }

  return {
    async open(request) {
      const ending = new AbortController();
      const { workspaceNumber: workspace, keyId } = request;
      const feeds = await feedOf(workspace);
      const opened = await feeds.open({ workspace, keyId, onEnd: (end) => ending.abort(end) });
      // Connections that were open when the shutdown began may still send requests.
      if (isClosed) ending.abort(new StreamEnd('shutdown'));
      return start(request, opened, ending);
    },

    recheck(workspaceNumber) {
      for (const stream of open) if (stream.workspaceNumber === workspaceNumber) stream.recheck();
    },

    close() {
      isClosed = true;
      for (const { end } of [...open]) end(new StreamEnd('shutdown'));
    },
  };
}
