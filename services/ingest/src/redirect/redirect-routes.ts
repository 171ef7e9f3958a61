import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { type LinkAnswer, pageAnswer } from './pages/answers.js';
import { BAD_REQUEST_PAGE } from './pages/pages.js';
import { createRedirector, type LinkRequest, type RedirectDeps, type Redirector } from './redirector.js';

function isVisit({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

const TRACK_PATH = '/track/';

/**
 * What the router of the link port is to look for. Any path but those of browsers' reports is a short link's, so there is
 * nothing to find out; and the router would refuse paths that cannot be decoded, with an error body made for programs.
 */
export function routerTarget(request: IncomingMessage): string {
  const { url = '/' } = request;
  return isVisit(request) || !url.startsWith(TRACK_PATH) ? '/' : url;
}

/** Two hosts: the proxy in front may have checked the other one (RFC 9112, 3.2). */
function namesTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name !== undefined && name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function linkRequest(request: IncomingMessage, target: string): LinkRequest {
  const { method = 'GET', headers, socket } = request;
  return { method, target, headers, remoteAddress: socket.remoteAddress };
}

function send(answer: LinkAnswer, response: ServerResponse, isClosing: boolean): void {
  answer.headers.push('content-length', String(Buffer.byteLength(answer.body)));
  if (isClosing) answer.headers.push('connection', 'close');
  response.writeHead(answer.status, answer.headers).end(answer.body);
}

async function serve(
  redirector: Redirector,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  isClosing: () => boolean,
): Promise<number> {
  const answer = namesTwoHosts(request)
    ? pageAnswer(BAD_REQUEST_PAGE, ['cache-control', 'no-store'])
    : await redirector.answer(linkRequest(request, target));
  send(answer, response, isClosing());
  return answer.status;
}

const FORM_BYTES_MAX = 16 * 1024;

/** The form of a link's password, posted to the link's own address. */
async function formRoute(app: FastifyInstance, redirector: Redirector): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES_MAX },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  );
  app.post('/', async (request, reply) => {
    const { body } = request;
    const password = body instanceof URLSearchParams ? (body.get('password') ?? '') : '';
    const answer = namesTwoHosts(request.raw)
      ? pageAnswer(BAD_REQUEST_PAGE, ['cache-control', 'no-store'])
      : await redirector.submit(linkRequest(request.raw, request.originalUrl), password);
    reply.hijack();
    send(answer, reply.raw, false);
  });
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
  await app.register((scope) => formRoute(scope, redirector));
}

/**
 * Lets visits past the framework, whose request, reply, logger and hooks cost as much as the redirect itself. The route above
 * stays for what does not come through the server's socket, and answers the same.
 *
 * @param countVisit told of each answer: its status and how long it took, in milliseconds
 */
export function shortcutVisits(
  app: FastifyInstance,
  deps: RedirectDeps,
  countVisit: (status: number, durationMs: number) => void = () => {},
): void {
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
    const startedMs = performance.now();
    serve(redirector, request.url ?? '/', request, response, () => isClosing).then(
      (status) => countVisit(status, performance.now() - startedMs),
      (err: unknown) => {
        deps.logger.error({ err }, 'an answer could not be sent');
        response.destroy();
      },
    );
  });
}
