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
import { afterAnswer } from '../requests/after-answer.js';
import { CROSS_ORIGIN_HEADERS } from '../requests/cross-origin.js';
import { acceptAbsentBody, acceptJsonOnly } from '../requests/json-bodies.js';
import { refuseInvalidQueryText } from '../requests/query-text.js';
import { refuseHead } from '../requests/refuse-head.js';
import { acceptForwardedAddresses } from '../requests/request-address.js';
import { createRequestIds } from '../requests/request-id.js';
import { createRequestLogger, logAnswer, SilentLogController } from '../requests/request-logger.js';
import { closeConnections } from './close-connections.js';
import { healthPlugin, type ReadinessChecks } from './health.js';
import type { Logger } from './logger.js';
import { limitPipelining } from './pipelined-requests.js';
import { limitPieces } from './small-pieces.js';
import { discardBody } from './unneeded-bodies.js';
import { dropUnreadAnswers } from './unread-answers.js';
import { createUnsentAnswers, type UnsentAnswers } from './unsent-answers.js';

/** Limit on the request line and the headers. A `query` of 10,000 characters may have 90 kB percent-encoded; Node's default is 16 KiB. */
const HEADER_BYTES_MAX = 128 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_INTERVAL_MS = 5000;
const UNREAD_ANSWER_MS = 30_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close idle connections first and never use a closed one. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

declare module 'fastify' {
  interface FastifyInstance {
    /** The count of the answers to requests with a key that are not sent yet. */
    unsentAnswers: UnsentAnswers;
  }
  interface FastifyRequest {
    /** Plan of the caller's workspace; empty without a secret key. */
    callerPlan: string;
    /** Whether the request exceeded a rate limit. */
    isOverLimit: boolean;
    /** For a response that lasts as long as its client reads, a file or a stream: the milliseconds from the request to its start. */
    streamBeganMs: number | undefined;
    /** The milliseconds in which the file of an upload has arrived so far; 0 for other requests. */
    uploadMs: () => number;
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
  /** Whether requests over plain HTTP are refused with 403, except probes, metrics, checks of domains, and `plainHttpPaths`. */
  readonly requireHttps?: boolean;
  /** Patterns of further routes that also work over plain HTTP. */
  readonly plainHttpPaths?: readonly string[];
  /** Whether to serve `/`, `/healthz`, `/readyz`, `/openapi.json` and `/docs`: not on the link port, where every path may be a link. */
  readonly systemRoutes?: boolean;
  /** Limit on the request line and the headers together; the default is enough for the longest request of the API. */
  readonly headerBytesMax?: number;
  /** Rewrites the URL for the router; the original stays in `request.originalUrl`. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** By default one with the limits of a process. Tests lower them. */
  readonly unsentAnswers?: UnsentAnswers;
  /** Time limits of a connection. Tests shorten them. */
  readonly timeoutsMs?: {
    /** For the headers of a request to arrive. */
    readonly headers: number;
    /** For a whole request to arrive. */
    readonly request: number;
    /** How often the two above are checked. */
    readonly checkInterval: number;
    /** How long a client may read nothing of its responses. */
    readonly unreadAnswer: number;
  };
}

/** Responses hold a workspace's data: caches must not store them, and browsers must not sniff their type. Routes may override this. */
const PRIVATE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Routes that work over plain HTTP, because they are called from the internal network, or before a certificate exists. */
const PLAIN_HTTP_PATHS = ['/healthz', '/readyz', '/metrics', '/internal/domain-check'];

function addRequestHooks(app: App, requireHttps: boolean, plainHttpPaths: readonly string[]): void {
  const plain: ReadonlySet<string | undefined> = new Set([...PLAIN_HTTP_PATHS, ...plainHttpPaths]);
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    reply.header('x-request-id', request.id).headers(PRIVATE_HEADERS);
    // Set before the checks below, so that their errors have these headers too.
    if (config?.crossOrigin !== undefined) reply.headers(CROSS_ORIGIN_HEADERS[config.crossOrigin]);
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      done(new ApiError('bad_request', 'The Host header is missing.'));
      return;
    }
    const isRefused = requireHttps && request.protocol !== 'https' && !plain.has(url);
    done(isRefused ? new ApiError('forbidden', 'This API is served over HTTPS only.') : undefined);
  });
}

/** Answers 404 to a request without a route, without its body. */
function refuseUnknownRoutes(app: App): void {
  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    await discardBody(request.raw, reply.raw);
    throw new ApiError('not_found', 'The requested resource was not found.');
  };
  // Fastify accepts all hooks here, its types only those that run after the body was read.
  app.setNotFoundHandler({ preParsing: refuse } as object, refuse);
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
  const requestIds = createRequestIds(options.trustedProxies);
  const sendFrameworkError = (err: unknown, request: FastifyRequest, reply: FastifyReply) => {
    reply.header('x-request-id', request.id).headers(PRIVATE_HEADERS);
    sendError(docBase, err, request, reply);
  };

  const app: App = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new SilentLogController(),
    childLoggerFactory: createRequestLogger,
    genReqId: ({ headers, socket }) => requestIds(headers, socket),
    requestIdHeader: false,
    trustProxy: [...options.trustedProxies],
    bodyLimit: BODY_BYTES_MAX,
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

  // By default Node silently drops headers after the 2000th, maybe among them a proxy's X-Forwarded-For. Their size is limited above.
  app.server.maxHeadersCount = 0;
  // By default Node responds to an unknown `Expect` with 417, which is no status of this API.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  acceptForwardedAddresses(app, options.trustedProxies);
  closeConnections(app, timeouts.unreadAnswer);
  limitPieces(app.server);
  limitPipelining(app.server);

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((err, request, reply) => sendError(docBase, err, request, reply));
  refuseUnknownRoutes(app);
  app.decorateRequest('callerPlan', '');
  app.decorateRequest('isOverLimit', false);
  app.decorateRequest('streamBeganMs', undefined);
  app.decorateRequest('uploadMs', () => 0);
  acceptJsonOnly(app);
  // At other levels nothing would be logged, and each request would cost its listeners.
  if (options.logger.isLevelEnabled('debug')) afterAnswer(app, logAnswer);
  app.decorate('unsentAnswers', options.unsentAnswers ?? createUnsentAnswers());
  dropUnreadAnswers(app, timeouts.unreadAnswer, app.unsentAnswers);
  addRequestHooks(app, options.requireHttps === true, options.plainHttpPaths ?? []);

  app.addHook('onRoute', describeRoute);
  app.addHook('onRoute', acceptAbsentBody);
  app.addHook('onRoute', refuseInvalidQueryText);
  app.addHook('onRoute', refuseHead);
  if (options.systemRoutes !== false) {
    const title = options.title ?? 'Waymark';
    app.register(openApiPlugin, { title, baseUrl: options.baseUrl, docBase });
    app.register(docsPlugin, { title, docBase, baseUrl: options.baseUrl });
    app.register(healthPlugin, { checks: options.readiness ?? {} });
  }
  return app;
}
