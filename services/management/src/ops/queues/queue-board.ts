import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '@waymark/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';

/** Path of the queue pages. */
export const QUEUE_BOARD_PATH = '/ops/queues';

/** The page of the package has inline styles, and loads fonts from another site, which this policy blocks. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
const LINK = /<link[^<>]*>/g;
const removeExternalLinks = (html: string) => html.replace(LINK, (link) => (/href="https?:/.test(link) ? '' : link));

const OWN_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** Headers of the inner app's answers that are not copied, because they belong to its connection. */
const UNCOPIED_HEADERS = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

/**
 * Read-only pages of the BullMQ queues: without commands that could lose or repeat an event, and without the content of jobs. Register
 * them behind the admin key. An inner app answers them. It takes ten megabytes, so it is loaded at the first request.
 */
export async function queueBoard(
  scope: FastifyInstance,
  { queueShards }: { readonly queueShards: readonly Redis[] },
): Promise<void> {
  const failures = new AsyncLocalStorage<unknown[]>();
  const onError = (err: unknown) => void failures.getStore()?.push(err);
  let loading: Promise<FastifyInstance> | undefined;

  async function load(): Promise<FastifyInstance> {
    const { createBoardApp } = await import('./board-app.js');
    return createBoardApp({ queueShards, basePath: QUEUE_BOARD_PATH, onError });
  }
  scope.addHook('onClose', async () => {
    await (await loading?.catch(() => undefined))?.close();
  });

  async function answer(request: FastifyRequest, reply: FastifyReply) {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ApiError('forbidden', 'Queues cannot be changed here.');
    }
    loading ??= load().catch((err: unknown) => {
      // The next request loads again.
      loading = undefined;
      throw err;
    });
    const board = await loading;
    const failed: unknown[] = [];
    const page = await failures.run(failed, () => board.inject({ method: request.method, url: request.url }));
    if (failed.length > 0) throw failed[0];
    const isHtml = String(page.headers['content-type']).startsWith('text/html');
    const headers = Object.entries(page.headers).filter(([name]) => !UNCOPIED_HEADERS.has(name));
    reply.code(page.statusCode).headers({ ...Object.fromEntries(headers), ...OWN_HEADERS });
    if (!isHtml) return reply.send(page.rawPayload);
    return reply.header('content-security-policy', POLICY).send(removeExternalLinks(page.payload));
  }
  const hidden = { schema: { hide: true } as object };
  for (const url of [QUEUE_BOARD_PATH, `${QUEUE_BOARD_PATH}/queue/*`]) {
    scope.all(url, { ...hidden, config: { isPage: true } }, answer);
  }
  scope.all(`${QUEUE_BOARD_PATH}/*`, hidden, answer);
}
