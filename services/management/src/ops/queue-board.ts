import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { ApiError } from '@waymark/contract';
import { DEAD_LETTER_QUEUE, QUEUE_KINDS, QUEUE_PREFIX, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { jobSummary, withoutMessages } from './job-summary.js';

export const QUEUE_BOARD_PATH = '/ops/queues';

/** The page of the package has a few styles inline, and asks another site for its fonts, which it does without. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
const LINK = /<link[^<>]*>/g;
const withoutLinksElsewhere = (html: string) => html.replace(LINK, (link) => (/href="https?:/.test(link) ? '' : link));

const QUEUES = [...QUEUE_KINDS, WEBHOOK_QUEUE, DEAD_LETTER_QUEUE];

/**
 * The queues of BullMQ as pages, to look at only: there is no command that could lose or repeat an event, and no content of a
 * job. Register it behind the admin key.
 */
export async function queueBoard(scope: FastifyInstance, { redis }: { readonly redis: Redis }): Promise<void> {
  const names = new Set(QUEUES);
  const queues = [...names].map(
    (name) =>
      new Queue(name, { connection: redis, prefix: QUEUE_PREFIX, skipMetasUpdate: true, skipVersionCheck: true }),
  );
  // Requests while Redis is away answer with that error.
  for (const queue of queues) queue.on('error', () => undefined);
  scope.addHook('onClose', async () => {
    await Promise.all(queues.map((queue) => queue.close()));
  });

  scope.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ApiError('forbidden', 'Queues cannot be changed here.');
    }
  });
  scope.addHook('preSerialization', async (_request, _reply, payload) => withoutMessages(payload));
  scope.addHook('onSend', async (_request, reply, payload) => {
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    if (!String(reply.getHeader('content-type')).startsWith('text/html')) return payload;
    reply.header('content-security-policy', POLICY);
    return typeof payload === 'string' ? withoutLinksElsewhere(payload) : payload;
  });

  const server = new FastifyAdapter();
  server.setBasePath(QUEUE_BOARD_PATH);
  createBullBoard({
    queues: queues.map((queue) => {
      const adapter = new BullMQAdapter(queue, { readOnlyMode: true });
      adapter.setFormatter('data', jobSummary);
      return adapter;
    }),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Waymark queues', hideRedisDetails: true, hideDocsLink: true } },
  });
  const plugin = server.registerPlugin();
  await scope.register(
    // Its own handler would make a 500 of every error, a missing key included: ours answers as everywhere.
    (board, options, done) => plugin(Object.create(board, { setErrorHandler: { value: () => board } }), options, done),
    { prefix: QUEUE_BOARD_PATH },
  );
}
