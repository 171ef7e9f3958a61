import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { DEAD_LETTER_QUEUE, QUEUE_KINDS, QUEUE_PREFIX, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { Queue } from 'bullmq';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { hideErrorsAndResults, jobSummary } from './job-summary.js';

const QUEUES = [...QUEUE_KINDS, WEBHOOK_QUEUE, DEAD_LETTER_QUEUE];
/** Maximum number of jobs on a page. Without it, the package would read as many as a request names. */
const JOBS_PER_PAGE_MAX = 100;

export interface BoardOptions {
  readonly queueShards: readonly Redis[];
  /** The path of the pages. */
  readonly basePath: string;
  /** Called with the error of a request, which is then answered with 500. */
  readonly onError: (err: unknown) => void;
}

/** The app of the pages of the BullMQ queues, without the content of jobs. It does not listen. */
export async function createBoardApp({ queueShards, basePath, onError }: BoardOptions): Promise<FastifyInstance> {
  const names = [...new Set(QUEUES)];
  const options = { prefix: QUEUE_PREFIX, skipMetasUpdate: true, skipVersionCheck: true };
  const shards = queueShards.map((connection, shard) => ({
    /** Shown before the names of its queues. */
    prefix: shard === 0 ? '' : `shard ${shard} `,
    isAway: () => connection.status !== 'ready',
    queues: names.map((name) => new Queue(name, { ...options, connection })),
  }));
  const queues = shards.flatMap((shard) => shard.queues);
  // Without a listener an error would end the process. The requests report the errors.
  for (const queue of queues) queue.on('error', () => undefined);

  const app = Fastify();
  app.addHook('onClose', async () => {
    await Promise.all(queues.map((queue) => queue.close()));
  });
  app.addHook('preHandler', async ({ query }) => {
    const page = query as { jobsPerPage?: unknown };
    if (Number(page.jobsPerPage) > JOBS_PER_PAGE_MAX) page.jobsPerPage = String(JOBS_PER_PAGE_MAX);
  });
  app.addHook('preSerialization', async (_request, _reply, payload) => hideErrorsAndResults(payload));
  app.setErrorHandler((err, _request, reply) => {
    onError(err);
    return reply.code(500).send();
  });

  const server = new FastifyAdapter();
  server.setBasePath(basePath);
  createBullBoard({
    queues: shards.flatMap(({ queues, prefix, isAway }) =>
      queues.map((queue) => {
        const adapter = new BullMQAdapter(queue, { readOnlyMode: true, prefix });
        adapter.setFormatter('data', jobSummary);
        // Hides the queues of a shard that is away, because one failing queue would make the page fail.
        if (shards.length > 1) adapter.setVisibilityGuard(() => !isAway());
        return adapter;
      }),
    ),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Waymark queues', hideRedisDetails: true, hideDocsLink: true } },
  });
  const plugin = server.registerPlugin();
  await app.register(
    // Keeps the package from replacing the error handler above.
    (board, options, done) => plugin(Object.create(board, { setErrorHandler: { value: () => board } }), options, done),
    { prefix: basePath },
  );
  await app.ready();
  return app;
}
