import type { IncomingMessage, ServerResponse } from 'node:http';
import { isScriptPath, scriptResponse } from '@waymark/browser-script';
import { BROWSER_TRACK_PATHS } from '@waymark/contract';
import {
  addOpenRequest,
  boundRequestPieces,
  closeIfPipelinedTooDeep,
  discardBody,
  interceptRequests,
  removeOpenRequest,
} from '@waymark/http-kit';
import type { FastifyInstance } from 'fastify';
import { originForm } from './address/short-address.js';
import { BAD_REQUEST_PAGE } from './pages/message-pages.js';
import { type LinkResponse, pageResponse } from './pages/responses.js';
import { IMAGE_PATH } from './preview-image.js';
import { createRedirector, type LinkRequest, type RedirectDeps, type Redirector } from './redirector.js';

function isVisit({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

const TRACK_PATHS: ReadonlySet<string> = new Set(BROWSER_TRACK_PATHS);

function withoutQuery(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

/**
 * The URL that the router of the link port matches. All paths except those that pages post events to may be short links, so they map to
 * `/`: the router would reject paths that cannot be decoded, with a JSON error instead of a page.
 */
export function routerTarget(request: IncomingMessage): string {
  const { url = '/' } = request;
  return isVisit(request) || !TRACK_PATHS.has(withoutQuery(url)) ? '/' : url;
}

/** Whether a visit requests the browser script, not a short link. */
function isScript(target: string): boolean {
  // A cheap check first, because nearly all visits are of short links.
  return target.startsWith('/analytics/') && isScriptPath(withoutQuery(target));
}

function sendScript(target: string, request: IncomingMessage, response: ServerResponse, isClosing: boolean): number {
  const path = withoutQuery(target);
  const { status, headers, body } = scriptResponse(path, request.headers, target.slice(path.length + 1));
  response.writeHead(status, isClosing ? { ...headers, connection: 'close' } : headers).end(body);
  return status;
}

/** Whether the request has two Host headers; a proxy in front may have checked only the other one (RFC 9112, 3.2). */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name !== undefined && name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function linkRequest(request: IncomingMessage, target: string): LinkRequest {
  const { method = 'GET', headers, socket } = request;
  const [host, path] = originForm(headers.host, target);
  const forHost = host === headers.host ? headers : { ...headers, host };
  return { method, target: path, headers: forHost, remoteAddress: socket.remoteAddress };
}

function send(answer: LinkResponse, response: ServerResponse, isClosing: boolean): void {
  // In a 304 it would be the length of the body that is left out (RFC 9110, 8.6).
  if (answer.status !== 304) answer.headers.push('content-length', String(Buffer.byteLength(answer.body)));
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
  const visit = linkRequest(request, target);
  if (isScript(visit.target) && !hasTwoHosts(request)) return sendScript(visit.target, request, response, isClosing());
  const answer = hasTwoHosts(request)
    ? pageResponse(BAD_REQUEST_PAGE, ['cache-control', 'no-store'])
    : await (visit.target.startsWith(IMAGE_PATH) ? redirector.image : redirector.answer)(visit);
  send(answer, response, isClosing());
  return answer.status;
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
const FORM_BYTES_MAX = 16 * 1024;

/** Handles the password form, which is posted to the URL of the link. */
async function formRoute(app: FastifyInstance, redirector: Redirector): Promise<void> {
  app.removeAllContentTypeParsers();
  // Other bodies have no password, and are not needed.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'string', bodyLimit: FORM_BYTES_MAX }, (_request, body, done) =>
    done(null, new URLSearchParams(body as string)),
  );
  app.post('/', async (request, reply) => {
    const { body } = request;
    await discardBody(request.raw, reply.raw);
    const password = body instanceof URLSearchParams ? (body.get('password') ?? '') : '';
    const answer = hasTwoHosts(request.raw)
      ? pageResponse(BAD_REQUEST_PAGE, ['cache-control', 'no-store'])
      : await redirector.submit(linkRequest(request.raw, request.originalUrl), password);
    reply.hijack();
    send(answer, reply.raw, false);
  });
}

/**
 * Registers short links, the images of their previews and the browser script: every path of every domain. The app must not have other GET
 * routes.
 */
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
 * Serves visits directly from Node's server, because Fastify's request, reply, logger and hooks cost as much as the redirect itself.
 * The route above remains for requests that do not come through the server's socket (`inject`), with the same responses.
 *
 * @param countVisit called for each response with its status and duration in milliseconds
 */
export function serveVisitsDirectly(
  app: FastifyInstance,
  deps: RedirectDeps,
  countVisit: (status: number, durationMs: number) => void = () => {},
): void {
  const redirector = createRedirector(deps);
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  interceptRequests(app.server, (request, response) => {
    if (!isVisit(request)) return false;
    if (closeIfPipelinedTooDeep(request, response)) return true;
    boundRequestPieces(app.server, request, response);
    addOpenRequest(request, response);
    const startedMs = performance.now();
    serve(redirector, request.url ?? '/', request, response, () => isClosing).then(
      (status) => {
        removeOpenRequest(request);
        countVisit(status, performance.now() - startedMs);
      },
      (err: unknown) => {
        removeOpenRequest(request);
        deps.logger.error({ err }, 'a response could not be sent');
        response.destroy();
      },
    );
    return true;
  });
}
