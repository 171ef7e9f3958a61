import type { IncomingMessage } from 'node:http';
import { ApiError } from '@waymark/contract';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { docsPlugin } from '../docs/docs-plugin.js';
import { describeRoute, openApiPlugin } from '../docs/open-api.js';
import { createClientErrorHandler } from '../errors/client-errors.js';
import { sendError } from '../errors/error-mapper.js';
import { validatorCompiler } from '../errors/validator.js';
import { sizeFault } from '../requests/body-size.js';
import { CROSS_ORIGIN_HEADERS } from '../requests/cross-origin.js';
import { requestId } from '../requests/request-id.js';
import { createRequestLogger, RequestLogController } from '../requests/request-logger.js';
import { closeConnections } from './close-connections.js';
import { healthPlugin, type ReadinessChecks } from './health.js';
import type { Logger } from './logger.js';

/** A `query` of 10,000 characters in any script is 90 kB once percent-encoded; Node's own limit is 16 KiB. */
const HEADER_BYTES_MAX = 128 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_INTERVAL_MS = 2000;
/** Longer than the idle timeout of the usual balancers (60 s), so that they close first and never meet a closed socket. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Keys are up to 190 characters, each up to 12 once percent-encoded. */
const PARAM_CHARS_MAX = 4096;

declare module 'fastify' {
  interface FastifyRequest {
    /** Plan of the caller's workspace; empty without a key. */
    callerPlan: string;
    /** The request was over a rate limit. */
    isOverLimit: boolean;
  }
}

/** The Fastify app every HTTP service builds on: zod in, zod out. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface CreateAppOptions {
  readonly logger: Logger;
  /** Documentation origin of `doc_url`, without a trailing slash. */
  readonly docBase: string;
  /** Addresses and CIDR ranges whose forwarded headers are accepted. */
  readonly trustedProxies: readonly string[];
  readonly readiness?: ReadinessChecks;
  /** Title of the OpenAPI document. */
  readonly title?: string;
  /** Public address of the API, for the OpenAPI document. */
  readonly baseUrl?: string;
  /** Refuse what did not come over HTTPS with 403; probes excepted. */
  readonly requireHttps?: boolean;
  /** Patterns of routes that are served over plain HTTP all the same. */
  readonly plainPaths?: readonly string[];
  readonly bodyBytesMax?: number;
  /** False leaves `/`, `/healthz`, `/readyz`, `/openapi.json` and `/docs` free: on the link port every path is a short link's. */
  readonly systemRoutes?: boolean;
  /** Longest request line and headers together; left out, what the longest request of the API takes. */
  readonly headerBytesMax?: number;
  /** Gives the router another target than the request's, which stays in `request.originalUrl`. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** How long a client may take for its headers and its whole request. Tests shorten it. */
  readonly timeoutsMs?: { readonly headers: number; readonly request: number; readonly checkInterval: number };
}

/** Answers hold a workspace's data: no cache keeps one, and no browser guesses that it is a page. Routes may say otherwise. */
const PRIVATE_ANSWER = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Asked from within, before there is a certificate. */
const PLAIN_PATHS = ['/healthz', '/readyz', '/metrics', '/internal/domain-check'];

function addRequestHooks(app: App, requireHttps: boolean, plainPaths: readonly string[]): void {
  const plain: ReadonlySet<string | undefined> = new Set([...PLAIN_PATHS, ...plainPaths]);
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    reply.header('x-request-id', request.id).headers(PRIVATE_ANSWER);
    // Before anything can refuse the request.
    if (config?.crossOrigin !== undefined) reply.headers(CROSS_ORIGIN_HEADERS[config.crossOrigin]);
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      done(new ApiError('bad_request', 'The Host header is missing.'));
      return;
    }
    const isRefused = requireHttps && request.protocol !== 'https' && !plain.has(url);
    done(isRefused ? new ApiError('forbidden', 'This API is served over HTTPS only.') : undefined);
  });
}

/** An empty body is no body, whatever its Content-Type says; SDKs send one with DELETE. Other types are refused. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0 || request.is404) return done(null, undefined);
    parse(request, body as string, (err, value) => done(err ?? sizeFault(value), value));
  });
}

/**
 * Builds the app of an HTTP service: error bodies, request ids, logging, timeouts, health and OpenAPI. Add routes in
 * plugins (`app.register`): one added directly is served, but missing from the OpenAPI document.
 */
export function createApp(options: CreateAppOptions): App {
  const { docBase } = options;
  const timeouts = options.timeoutsMs ?? {
    headers: HEADERS_TIMEOUT_MS,
    request: REQUEST_TIMEOUT_MS,
    checkInterval: TIMEOUT_CHECK_INTERVAL_MS,
  };
  const sendFrameworkError = (err: unknown, request: FastifyRequest, reply: FastifyReply) => {
    reply.header('x-request-id', request.id).headers(PRIVATE_ANSWER);
    sendError(docBase, err, request, reply);
  };

  const app: App = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new RequestLogController(),
    childLoggerFactory: createRequestLogger,
    genReqId: requestId,
    requestIdHeader: false,
    trustProxy: [...options.trustedProxies],
    bodyLimit: options.bodyBytesMax ?? BODY_BYTES_MAX,
    http: {
      // Node's own refusal has neither a body nor our headers: `addRequestHooks` refuses instead.
      requireHostHeader: false,
      maxHeaderSize: options.headerBytesMax ?? HEADER_BYTES_MAX,
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      connectionsCheckingInterval: timeouts.checkInterval,
    },
    requestTimeout: timeouts.request,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // While closing, requests on open connections are answered as ever: 503 is no status of this API.
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    clientErrorHandler: createClientErrorHandler(docBase, options.systemRoutes !== false),
    frameworkErrors: sendFrameworkError as never,
    ...(options.rewriteUrl === undefined ? {} : { rewriteUrl: options.rewriteUrl }),
  }).withTypeProvider<ZodTypeProvider>();

  // Node would answer an unknown `Expect` with 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  closeConnections(app);

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((err, request, reply) => sendError(docBase, err, request, reply));
  app.setNotFoundHandler(async () => {
    throw new ApiError('not_found', 'The requested resource was not found.');
  });
  app.decorateRequest('callerPlan', '');
  app.decorateRequest('isOverLimit', false);
  acceptJsonOnly(app);
  addRequestHooks(app, options.requireHttps === true, options.plainPaths ?? []);

  const systemRoutes = options.systemRoutes !== false;
  app.addHook('onRoute', describeRoute);
  if (systemRoutes) {
    const title = options.title ?? 'Waymark';
    app.register(openApiPlugin, { title, baseUrl: options.baseUrl, docBase });
    app.register(docsPlugin, { title, docBase, baseUrl: options.baseUrl });
  }
  app.register(healthPlugin, { checks: options.readiness ?? {}, routes: systemRoutes });
  return app;
}
