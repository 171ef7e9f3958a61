import type { IncomingMessage } from 'node:http';
import { ApiError, PARAM_CHARS_MAX } from '@waymark/contract';
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
import { bodySizeError } from '../requests/body-size.js';
import { CROSS_ORIGIN_HEADERS } from '../requests/cross-origin.js';
import { refuseHead } from '../requests/refuse-head.js';
import { requestId } from '../requests/request-id.js';
import { createRequestLogger, RequestLogController } from '../requests/request-logger.js';
import { wellFormedBody } from '../requests/well-formed-body.js';
import { closeConnections } from './close-connections.js';
import { healthPlugin, type ReadinessChecks } from './health.js';
import type { Logger } from './logger.js';
import { dropUnreadAnswers } from './unread-answers.js';

/** A `query` parameter of 10,000 characters can take 90 kB once percent-encoded; Node's default limit is 16 KiB. */
const HEADER_BYTES_MAX = 128 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_INTERVAL_MS = 5000;
const UNREAD_ANSWER_MS = 30_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close first and never reuse a closed socket. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** Plan of the caller's workspace; empty without a key. */
    callerPlan: string;
    /** The request exceeded a rate limit. */
    isOverLimit: boolean;
    /** For a response that lasts until its client leaves: after how many milliseconds it began. */
    streamBeganMs: number | undefined;
  }
}

/** The Fastify app that every HTTP service uses; zod schemas validate requests and serialize responses. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface CreateAppOptions {
  readonly logger: Logger;
  /** Base URL of the documentation links (`doc_url`) in errors, without a trailing slash. */
  readonly docBase: string;
  /** Addresses and CIDR ranges whose forwarded headers are accepted. */
  readonly trustedProxies: readonly string[];
  readonly readiness?: ReadinessChecks;
  /** Title of the OpenAPI document. */
  readonly title?: string;
  /** Public address of the API, for the OpenAPI document. */
  readonly baseUrl?: string;
  /** Reject requests over plain HTTP with 403, except probes. */
  readonly requireHttps?: boolean;
  /** Route patterns that also work over plain HTTP. */
  readonly plainHttpPaths?: readonly string[];
  readonly bodyBytesMax?: number;
  /** False does not register `/`, `/healthz`, `/readyz`, `/openapi.json` and `/docs`: on the link port every path may be a short link. */
  readonly systemRoutes?: boolean;
  /** Longest request line and headers together; the default fits the longest request of the API. */
  readonly headerBytesMax?: number;
  /** Rewrites the URL for the router; the original stays in `request.originalUrl`. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** How long a client may take to send its headers and its whole request, and not read a large answer. Tests shorten it. */
  readonly timeoutsMs?: {
    readonly headers: number;
    readonly request: number;
    readonly checkInterval: number;
    readonly unreadAnswer: number;
  };
}

/** Responses hold a workspace's data: caches must not store them, and browsers must not sniff their type. Routes may override this. */
const PRIVATE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Called from the internal network, before a certificate exists. */
const PLAIN_HTTP_PATHS = ['/healthz', '/readyz', '/metrics', '/internal/domain-check'];

function addRequestHooks(app: App, requireHttps: boolean, plainHttpPaths: readonly string[]): void {
  const plain: ReadonlySet<string | undefined> = new Set([...PLAIN_HTTP_PATHS, ...plainHttpPaths]);
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    reply.header('x-request-id', request.id).headers(PRIVATE_HEADERS);
    // Set first, so that error responses have these headers too.
    if (config?.crossOrigin !== undefined) reply.headers(CROSS_ORIGIN_HEADERS[config.crossOrigin]);
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      done(new ApiError('bad_request', 'The Host header is missing.'));
      return;
    }
    const isRefused = requireHttps && request.protocol !== 'https' && !plain.has(url);
    done(isRefused ? new ApiError('forbidden', 'This API is served over HTTPS only.') : undefined);
  });
}

/** Accepts JSON bodies only. An empty body counts as none, whatever its Content-Type: SDKs send one with DELETE. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0 || request.is404) return done(null, undefined);
    const sizeError = bodySizeError(body as string, request.routeOptions.bodyLimit);
    if (sizeError) return done(sizeError);
    parse(request, body as string, (err, value) => done(err, err ? undefined : wellFormedBody(body as string, value)));
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
    unreadAnswer: UNREAD_ANSWER_MS,
  };
  const sendFrameworkError = (err: unknown, request: FastifyRequest, reply: FastifyReply) => {
    reply.header('x-request-id', request.id).headers(PRIVATE_HEADERS);
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
      // Node's own 400 has neither a body nor our headers, so `addRequestHooks` makes this check.
      requireHostHeader: false,
      maxHeaderSize: options.headerBytesMax ?? HEADER_BYTES_MAX,
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      connectionsCheckingInterval: timeouts.checkInterval,
    },
    requestTimeout: timeouts.request,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Requests on open connections are still served during shutdown: 503 is not a status of this API.
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    clientErrorHandler: createClientErrorHandler(docBase, options.systemRoutes !== false),
    frameworkErrors: sendFrameworkError as never,
    ...(options.rewriteUrl === undefined ? {} : { rewriteUrl: options.rewriteUrl }),
  }).withTypeProvider<ZodTypeProvider>();

  // Node would drop those after the 2000th, without an error: a proxy's X-Forwarded-For may be among them. Their size is limited above.
  app.server.maxHeadersCount = 0;
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
  app.decorateRequest('streamBeganMs', undefined);
  acceptJsonOnly(app);
  dropUnreadAnswers(app, timeouts.unreadAnswer);
  addRequestHooks(app, options.requireHttps === true, options.plainHttpPaths ?? []);

  const systemRoutes = options.systemRoutes !== false;
  app.addHook('onRoute', describeRoute);
  app.addHook('onRoute', refuseHead);
  if (systemRoutes) {
    const title = options.title ?? 'Waymark';
    app.register(openApiPlugin, { title, baseUrl: options.baseUrl, docBase });
    app.register(docsPlugin, { title, docBase, baseUrl: options.baseUrl });
  }
  app.register(healthPlugin, { checks: options.readiness ?? {}, routes: systemRoutes });
  return app;
}
