import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Bindings, ChildLoggerOptions, Level, LogFn, Logger } from 'pino';

/**
 * The logger of one request. It creates its pino child logger lazily, on the first line: most requests log nothing, and creating a
 * child takes half as long as everything Fastify does for a redirect.
 */
class RequestLogger {
  readonly #parent: Logger;
  readonly #bindings: Bindings;
  readonly #options: ChildLoggerOptions;
  #made: Logger | undefined;

  constructor(parent: Logger, bindings: Bindings, options: ChildLoggerOptions) {
    this.#parent = parent;
    this.#bindings = bindings;
    this.#options = options;
  }

  get level(): string {
    return this.#options.level ?? this.#parent.level;
  }

  #child(): Logger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options);
    return this.#made;
  }

  #write(level: Level, args: Parameters<LogFn>): void {
    // A route may have a lower log level than the app.
    if (this.#options.level !== undefined || this.#parent.isLevelEnabled(level)) this.#child()[level](...args);
  }

  fatal(...args: Parameters<LogFn>): void {
    this.#write('fatal', args);
  }
  error(...args: Parameters<LogFn>): void {
    this.#write('error', args);
  }
  warn(...args: Parameters<LogFn>): void {
    this.#write('warn', args);
  }
  info(...args: Parameters<LogFn>): void {
    this.#write('info', args);
  }
  debug(...args: Parameters<LogFn>): void {
    this.#write('debug', args);
  }
  trace(...args: Parameters<LogFn>): void {
    this.#write('trace', args);
  }
  silent(): void {}
  child(bindings: Bindings, options?: ChildLoggerOptions): Logger {
    return this.#child().child(bindings, options);
  }
}

/** For Fastify's `childLoggerFactory`, in an app whose logger is pino. */
export function createRequestLogger(
  parent: FastifyBaseLogger,
  bindings: Bindings,
  options: ChildLoggerOptions,
): FastifyBaseLogger {
  return new RequestLogger(parent as Logger, bindings, options);
}

/** Id of the workspace whose key made the request; null without a key. */
export function workspaceOf(request: FastifyRequest): string | null {
  const { workspace } = request as { readonly workspace?: { readonly id: string } | null };
  return workspace?.id ?? null;
}

/** Logs one line per request at `debug`; at thousands of redirects per second, access logs belong in the proxy. */
export class RequestLogController extends LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const workspaceId = workspaceOf(request);
    // A stream ends when its client leaves.
    if (error && request.streamBeganMs === undefined)
      reply.log.warn({ req: request, res: reply, workspaceId, err: error }, 'response aborted');
    else reply.log.debug({ req: request, res: reply, workspaceId, elapsedMs: reply.elapsedTime }, 'request completed');
  }

  override routeNotFound(): void {}
}
