import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { ApiError } from '@waymark/contract';
import { DEAD_LETTER_QUEUE, QUEUE_KINDS, QUEUE_PREFIX, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { jobSummary, removeErrorMessages } from './job-summary.js';

export const QUEUE_BOARD_PATH = '/ops/queues';

/** The page of the package has inline styles, and loads fonts from another site, which this policy blocks. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
const LINK = /<link[^<>]*>/g;
const removeExternalLinks = (html: string) => html.replace(LINK, (link) => (/href="https?:/.test(link) ? '' : link));

const QUEUES = [...QUEUE_KINDS, WEBHOOK_QUEUE, DEAD_LETTER_QUEUE];

/**
 * Read-only pages of the BullMQ queues: without commands that could lose or repeat an event, and without the content of jobs. Register
 * it behind the admin key.
 */
export async function queueBoard(
  scope: FastifyInstance,
  { queueShards }: { readonly queueShards: readonly Redis[] },
): Promise<void> {
  const names = [...new Set(QUEUES)];
  const options = { prefix: QUEUE_PREFIX, skipMetasUpdate: true, skipVersionCheck: true };
  const shards = queueShards.map((connection, shard) => ({
    /** Shown before the names of its queues. */
    prefix: shard === 0 ? '' : `shard ${shard} `,
    isAway: () => connection.status !== 'ready',
    queues: names.map((name) => new Queue(name, { ...options, connection })),
  }));
  const queues = shards.flatMap((shard) => shard.queues);
  // Requests report the errors themselves.
  for (const queue of queues) queue.on('error', () => undefined);
  scope.addHook('onClose', async () => {
    await Promise.all(queues.map((queue) => queue.close()));
  });

  scope.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ApiError('forbidden', 'Queues cannot be changed here.');
    }
  });
  scope.addHook('preSerialization', async (_request, _reply, payload) => removeErrorMessages(payload));
  scope.addHook('onSend', async (_request, reply, payload) => {
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    if (!String(reply.getHeader('content-type')).startsWith('text/html')) return payload;
    reply.header('content-security-policy', POLICY);
    return typeof payload === 'string' ? removeExternalLinks(payload) : payload;
  });

  const server = new FastifyAdapter();
  server.setBasePath(QUEUE_BOARD_PATH);
  createBullBoard({
    queues: shards.flatMap(({ queues, prefix, isAway }) =>
      queues.map((queue) => {
        const adapter = new BullMQAdapter(queue, { readOnlyMode: true, prefix });
        adapter.setFormatter('data', jobSummary);
        // The page would fail for all queues.
        if (shards.length > 1) adapter.setVisibilityGuard(() => !isAway());
        return adapter;
      }),
    ),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Waymark queues', hideRedisDetails: true, hideDocsLink: true } },
  });
  const plugin = server.registerPlugin();
  await scope.register(
    // The package's error handler would turn every error into a 500, even a missing admin key; ours stays in place.
    (board, options, done) => plugin(Object.create(board, { setErrorHandler: { value: () => board } }), options, done),
    { prefix: QUEUE_BOARD_PATH },
  );
}
