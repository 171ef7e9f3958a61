import { createFairQueue, haveEventsExpired } from '@waymark/catalog';
import { onReplyClose } from '@waymark/http-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { disconnectSignal } from './client-disconnect.js';
import { createIdleWait } from './idle-wait.js';
import { createReads, type ReadCaller, type ReadDeps, type Reads } from './reads.js';

/**
 * Runs the database reads of a request, under the concurrency limit of its workspace. Cancels them when the client disconnects.
 * ClickHouse's query log shows the id of the request.
 *
 * @throws ApiError 429 when too many requests wait, and what the reads throw
 */
export type RunReads = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  task: (reads: Reads) => Promise<T>,
) => Promise<T>;

/**
 * The embedded engine runs eight statements at a time; two are left for the writer and the catalog. A workspace gets at most four
 * of the remaining six, so that another workspace always finds a free slot.
 */
const QUEUE = {
  runningMax: 6,
  runningPerOwnerMax: 4,
  waitingMax: 400,
  waitingPerOwnerMax: 100,
  waitMsMax: 5000,
};

/** Exports read one part at a time, in turn by workspace, and wait as long as it takes. */
const SLICES = {
  runningMax: 1,
  runningPerOwnerMax: 1,
  waitingMax: 10_000,
  waitingPerOwnerMax: 100,
  waitMsMax: 2 ** 31 - 1,
};
/** All exports together get the turns of one workspace. */
const SLICES_OWNER = 'exports';
/** How long exports wait for other requests to be answered before they read a part, and before they go on with a hundred rows of it. */
const READ_WAIT_MS = 100;
const ROWS_WAIT_MS = 10;

/** How requests read. The limits apply to all requests of the process together, so create one and share it. */
export interface ReadRunners {
  /** For requests whose clients wait for the whole response. Exports wait until that has been sent; the limits count the reads only. */
  readonly runReads: RunReads;
  /** For the parts of exports, preferably while nobody else reads. */
  readonly runSlice: RunReads;
  /** For the parts of exports that are no answer to a request. */
  readonly runJobSlice: <T>(caller: ReadCaller, task: (reads: Reads) => Promise<T>) => Promise<T>;
  /** A pause in the work of an export, longer while others read. */
  readonly yieldToReads: () => Promise<void>;
  /** Whether nobody else has read for a moment. */
  readonly isQuiet: () => boolean;
  /** For reads that several requests share. @throws ApiError 429 when too many wait, and what the task throws */
  readonly runSharedRead: <T>(workspaceId: string, task: () => Promise<T>) => Promise<T>;
}

export function createReadRunners(deps: ReadDeps): ReadRunners {
  const queue = createFairQueue(QUEUE);
  const slices = createFairQueue(SLICES);
  const others = createIdleWait();
  const callerOf = (request: FastifyRequest, reply: FastifyReply): ReadCaller => {
    const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
    const { workspace, id: requestId } = request;
    const eventsExpire = haveEventsExpired(workspace);
    return { endpoint, workspaceId: workspace.id, requestId, signal: disconnectSignal(reply), eventsExpire };
  };
  const runJobSlice: ReadRunners['runJobSlice'] = (caller, task) => {
    const { workspaceId, signal } = caller;
    const inTurn = async () => {
      await others.untilQuiet(READ_WAIT_MS);
      return queue.run(SLICES_OWNER, () => task(createReads(deps, caller)), signal);
    };
    return slices.run(workspaceId, inTurn, signal);
  };
  return {
    runReads(request, reply, task) {
      const caller = callerOf(request, reply);
      onReplyClose(reply, others.begin());
      return queue.run(caller.workspaceId, () => task(createReads(deps, caller)), caller.signal);
    },
    runSlice: (request, reply, task) => runJobSlice(callerOf(request, reply), task),
    runJobSlice,
    // None of the requests may cancel it.
    async runSharedRead(workspaceId, task) {
      const end = others.begin();
      return queue.run(workspaceId, task, new AbortController().signal).finally(end);
    },
    isQuiet: others.isQuiet,
    yieldToReads: () => others.untilIdle(ROWS_WAIT_MS),
  };
}
