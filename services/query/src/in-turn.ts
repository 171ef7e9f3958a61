import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerSignal } from './caller-signal.js';
import { createFairQueue } from './fair-queue.js';
import { createReads, type ReadParts, type Reads } from './reads.js';

/**
 * Does the reads of a request when it is its workspace's turn. They end when the caller hangs up, and ClickHouse's logs have
 * the id of the request.
 *
 * @throws ApiError 429 when too many wait, and what the reads throw
 */
export type InTurn = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (reads: Reads) => Promise<T>,
) => Promise<T>;

/**
 * The embedded engine runs eight statements at a time, and the writer and the catalog need theirs. Of the six that are left a
 * workspace has four at most: whoever comes next finds a place.
 */
const QUEUE = {
  runningMax: 6,
  runningPerOwnerMax: 4,
  waitingMax: 400,
  waitingPerOwnerMax: 100,
  waitMsMax: 5000,
};

/** One for all routes that read events: they share its places. */
export function createInTurn(parts: ReadParts): InTurn {
  const queue = createFairQueue(QUEUE);
  return (request, reply, work) => {
    const signal = callerSignal(reply);
    const workspaceId = request.workspace.id;
    const endpoint = `${request.method} ${request.routeOptions.url ?? ''}`;
    const reads = createReads(parts, { endpoint, workspaceId, requestId: request.id, signal });
    return queue.run(workspaceId, () => work(reads), signal);
  };
}
