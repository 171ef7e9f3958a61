import type { FastifyReply, FastifyRequest } from 'fastify';
import { disconnectSignal } from './client-disconnect.js';
import { createFairQueue } from './fair-queue.js';
import { createReads, type ReadDeps, type Reads } from './reads.js';

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

/** Create one and share it between all routes that read events: the limits apply to all of them together. */
export function createRunReads(deps: ReadDeps): RunReads {
  const queue = createFairQueue(QUEUE);
  return (request, reply, task) => {
    const signal = disconnectSignal(reply);
    const workspaceId = request.workspace.id;
    const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
    const reads = createReads(deps, { endpoint, workspaceId, requestId: request.id, signal });
    return queue.run(workspaceId, () => task(reads), signal);
  };
}
