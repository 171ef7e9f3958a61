import { haveEventsExpired } from '@waymark/catalog';
import { disconnectSignal, onReplyClose } from '@waymark/http-kit';
import { createFairQueue, type FairQueue } from '@waymark/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createIdleWait } from './idle-wait.js';
import { createReads, type ReadCaller, type ReadDeps, type Reads } from './reads.js';

/**
 * Runs the database reads of a request, under the concurrency limits of its workspace and of the process. Cancels them when the client
 * disconnects. ClickHouse's query log shows the id of the request.
 *
 * @throws ApiError 429 when too many requests wait, and what the reads throw
 */
export type RunReads = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  task: (reads: Reads) => Promise<T>,
) => Promise<T>;

/**
 * Limits of the reads in this process, of which each may run several statements. A workspace gets at most four, and the last free one only
 * if it has none. The embedded ClickHouse runs eight statements with an owner at a time, with those of lists, and shares these out again.
 */
const QUEUE = {
  runningMax: 6,
  runningPerOwnerMax: 4,
  waitingMax: 400,
  waitingPerOwnerMax: 100,
  waitMsMax: 5000,
};

/** Limits of the reads of exports: one at a time, of the workspaces in turn, without a limit on the time that they wait. */
const SLICES = {
  runningMax: 1,
  runningPerOwnerMax: 1,
  waitingMax: 10_000,
  waitingPerOwnerMax: 100,
  waitMsMax: 2 ** 31 - 1,
};
/** In the queue of all reads, exports are one owner together, and so get as many turns as one workspace. */
const SLICES_OWNER = 'exports';
/** How long an export waits at most for a pause in the other requests before it reads a page. */
const READ_WAIT_MS = 100;
/** The same before it encodes the next slice. */
const ENCODE_WAIT_MS = 10;

/** For how long after its reads a request counts as running: its client may take minutes for the answer, and most answers are complete by then. */
const ANSWER_MS_MAX = 1000;

/** Ways to run reads. The limits apply to all requests of the process together, so create one and share it. */
export interface ReadRunners {
  /** For requests whose clients wait for the whole response. Exports pause until the response is sent, or a second after the reads. The limits count the reads only. */
  readonly runReads: RunReads;
  /**
   * For the reads of an export that answers a request. Waits a moment for a pause in the other requests. Once the file has begun, a read waits
   * for its turn as long as it takes, because a refusal would cut the file off.
   */
  readonly runSlice: RunReads;
  /** {@link runSlice} for export jobs and schedules, which have no request. They wait for their turn as long as it takes. */
  readonly runJobSlice: <T>(caller: ReadCaller, task: (reads: Reads) => Promise<T>) => Promise<T>;
  /** Waits for a short time while other requests read; exports call it between slices. */
  readonly yieldToReads: () => Promise<void>;
  /** Whether no other request has read for 50 ms. */
  readonly isQuiet: () => boolean;
  /** For reads that several streams share. @throws ApiError 429 when too many wait, and what the task throws */
  readonly runSharedRead: <T>(workspaceId: string, task: () => Promise<T>) => Promise<T>;
}

export function createReadRunners(deps: ReadDeps): ReadRunners {
  const queue = createFairQueue(QUEUE);
  const slices = createFairQueue(SLICES);
  /** The requests and streams that exports wait for. */
  const others = createIdleWait();
  const callerOf = (request: FastifyRequest, reply: FastifyReply): ReadCaller => {
    const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
    const { workspace, id: requestId } = request;
    const eventsExpire = haveEventsExpired(workspace);
    return { endpoint, workspaceId: workspace.id, requestId, signal: disconnectSignal(reply), eventsExpire };
  };
  /** @param run how the slice waits for its turn among the other reads */
  const runInTurn = <T>(run: FairQueue['run'], caller: ReadCaller, task: (reads: Reads) => Promise<T>): Promise<T> => {
    const { workspaceId, signal } = caller;
    const inTurn = async () => {
      await others.untilQuiet(READ_WAIT_MS);
      return run(SLICES_OWNER, () => task(createReads(deps, caller)), signal);
    };
    return slices.run(workspaceId, inTurn, signal);
  };
  return {
    runReads(request, reply, task) {
      const caller = callerOf(request, reply);
      const end = others.begin();
      onReplyClose(reply, end);
      const reading = queue.run(caller.workspaceId, () => task(createReads(deps, caller)), caller.signal);
      return reading.finally(() => void setTimeout(end, ANSWER_MS_MAX).unref());
    },
    runSlice(request, reply, task) {
      const run = reply.raw.headersSent ? queue.runPatiently : queue.run;
      return runInTurn(run, callerOf(request, reply), task);
    },
    runJobSlice: (caller, task) => runInTurn(queue.runPatiently, caller, task),
    // Never cancelled, because a stream that ends must not fail the read for the others.
    async runSharedRead(workspaceId, task) {
      const end = others.begin();
      return queue.run(workspaceId, task, new AbortController().signal).finally(end);
    },
    isQuiet: others.isQuiet,
    yieldToReads: () => others.untilIdle(ENCODE_WAIT_MS),
  };
}
