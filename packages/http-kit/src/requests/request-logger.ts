import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Bindings, ChildLoggerOptions, Level, LogFn, Logger } from 'pino';

/**
 * The logger of one request. It creates its pino child logger with the first line: most requests log nothing, and creating a child takes
 * half as long as everything that Fastify does for a redirect.
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
    // A route may have another log level than the app; its child logger applies it.
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

/** Fastify's `childLoggerFactory` for an app whose logger is pino. */
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

/**
 * Logs a line for a request that was answered, at `debug` only: at thousands of redirects a second, the proxy should write the access log.
 */
export function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const workspaceId = workspaceOf(request);
  reply.log.debug({ req: request, res: reply, workspaceId, elapsedMs: reply.elapsedTime }, 'request completed');
}

/** Replaces the lines that Fastify logs for each request; see {@link logAnswer}. */
export class SilentLogController extends LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' });
  }

  override incomingRequest(): void {}
  override requestCompleted(): void {}
  override routeNotFound(): void {}
}
