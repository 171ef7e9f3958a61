import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { createRedirector, type RedirectDeps, type Redirector } from './redirector.js';

function isVisit({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * What the router of the link port is to look for. Any path of a visit is a short link's, so there is nothing to find out; and
 * the router would refuse paths that cannot be decoded, with an error body made for programs.
 */
export function routerTarget(request: IncomingMessage): string {
  return isVisit(request) ? '/' : (request.url ?? '/');
}

async function serve(
  redirector: Redirector,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  isClosing: () => boolean,
): Promise<void> {
  const { method = 'GET', headers, socket } = request;
  const answer = await redirector.answer({ method, target, headers, remoteAddress: socket.remoteAddress });
  answer.headers.push('content-length', String(Buffer.byteLength(answer.body)));
  if (isClosing()) answer.headers.push('connection', 'close');
  response.writeHead(answer.status, answer.headers).end(answer.body);
}

/** Short links: every path of every domain. The app must serve nothing else under GET. */
export async function redirectRoutes(app: FastifyInstance, deps: RedirectDeps): Promise<void> {
  const redirector = createRedirector(deps);
  for (const url of ['/', '/*']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      async handler(request, reply) {
        reply.hijack();
        await serve(redirector, request.originalUrl, request.raw, reply.raw, () => false);
      },
    });
  }
}

/**
 * Lets visits past the framework, whose request, reply, logger and hooks cost as much as the redirect itself. The route above
 * stays for what does not come through the server's socket, and answers the same.
 */
export function shortcutVisits(app: FastifyInstance, deps: RedirectDeps): void {
  const redirector = createRedirector(deps);
  const { server } = app;
  const others = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (!isVisit(request)) {
      for (const other of others) other.call(server, request, response);
      return;
    }
    serve(redirector, request.url ?? '/', request, response, () => isClosing).catch((err: unknown) => {
      deps.logger.error({ err }, 'an answer could not be sent');
      response.destroy();
    });
  });
}
