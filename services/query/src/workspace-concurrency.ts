import type { FastifyReply, FastifyRequest } from 'fastify';
import { disconnectSignal } from './client-disconnect.js';
import { createFairQueue } from './fair-queue.js';
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

/**
 * Parts of exports that are read at the same time, one for each workspace. They wait as long as it takes; together they count as one
 * more workspace beside those of the other requests.
 */
const SLICES = {
  runningMax: 2,
  runningPerOwnerMax: 1,
  waitingMax: 10_000,
  waitingPerOwnerMax: 100,
  waitMsMax: 2 ** 31 - 1,
};
const SLICES_OWNER = 'exports';

/** How requests read. The limits apply to all requests of the process together, so create one and share it. */
export interface ReadRunners {
  /** For requests whose clients wait for the whole response. */
  readonly runReads: RunReads;
  /** For the parts of exports. */
  readonly runSlice: RunReads;
  /** For the parts of exports that are no answer to a request. */
  readonly runJobSlice: <T>(caller: ReadCaller, task: (reads: Reads) => Promise<T>) => Promise<T>;
}

export function createReadRunners(deps: ReadDeps): ReadRunners {
  const queue = createFairQueue(QUEUE);
  const slices = createFairQueue(SLICES);
  const callerOf = (request: FastifyRequest, reply: FastifyReply): ReadCaller => {
    const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
    return { endpoint, workspaceId: request.workspace.id, requestId: request.id, signal: disconnectSignal(reply) };
  };
  const runJobSlice: ReadRunners['runJobSlice'] = (caller, task) => {
    const { workspaceId, signal } = caller;
    const inTurn = () => queue.run(SLICES_OWNER, () => task(createReads(deps, caller)), signal);
    return slices.run(workspaceId, inTurn, signal);
  };
  return {
    runReads(request, reply, task) {
      const caller = callerOf(request, reply);
      return queue.run(caller.workspaceId, () => task(createReads(deps, caller)), caller.signal);
    },
    runSlice: (request, reply, task) => runJobSlice(callerOf(request, reply), task),
    runJobSlice,
  };
}
