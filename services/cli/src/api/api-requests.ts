import { setTimeout as delay } from 'node:timers/promises';
import { retryAfterMs } from '@waymark/contract';
import { type Dispatcher, request } from 'undici';
import { CommandError } from '../command-error.js';

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;
/** Requests are repeated this long while nothing arrives: longer than a restart, an upgrade or a failover takes. */
const GIVE_UP_AFTER_MS = 10 * 60_000;
/** A command does not wait longer than this for the API, whatever a proxy in front of it answers. */
const PAUSE_MS_MAX = 10 * 60_000;

/** The pause that the header `Retry-After` requests, in milliseconds, at most ten minutes; 0 without a valid header. */
export function requestedPauseMs(header: string | null | undefined): number {
  return Math.min(retryAfterMs(header, Date.now()) ?? 0, PAUSE_MS_MAX);
}

/** A failure after which the same request may succeed. */
export class TemporaryError extends Error {
  constructor(
    message: string,
    /** Shortest pause before the repeat. */
    readonly retryMs = RETRY_MS_MIN,
  ) {
    super(message);
    this.name = 'TemporaryError';
  }
}

/** An answer of the API that a repeat would not change. */
export class RefusedRequest extends CommandError {
  constructor(
    message: string,
    /** The `code` of the error, such as `not_found`; undefined when the answer has none. */
    readonly code: string | undefined,
  ) {
    super(message);
    this.name = 'RefusedRequest';
  }
}

/** Options of {@link createApiRequests}. */
export interface ApiRequestsOptions {
  /** URL of the API, without a slash at its end. */
  readonly api: string;
  /** Creates an API key. Called again when the API does not accept the last one any more. */
  readonly newKey: () => Promise<string>;
  /** Receives messages about errors after which a request is repeated. */
  readonly onStatus: (text: string) => void;
  /** Ends all requests with its reason. */
  readonly signal: AbortSignal;
  /** Milliseconds without progress after which {@link ApiRequests.untilDone} gives up; ten minutes by default. */
  readonly giveUpAfterMs?: number;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Path with the query string. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A successful response whose body has not been read. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  /** @throws TemporaryError when the body is cut off */
  readonly body: AsyncIterable<Buffer>;
  /** Headers after the body, complete when the body has ended. */
  readonly trailers: Readonly<Record<string, string>>;
}

/** Requests to the API that survive restarts of the server. */
export interface ApiRequests {
  /**
   * Sends a request once.
   *
   * @throws TemporaryError when the API cannot be reached, answers 5xx or 429, or refuses a key that it accepted before
   * @throws RefusedRequest for other errors
   */
  send(request: ApiRequest): Promise<ApiResponse>;
  /** The JSON of a response. @throws what `send` throws */
  json<T>(request: ApiRequest): Promise<T>;
  /**
   * Repeats `attempt` after each {@link TemporaryError}, until it returns.
   *
   * @param attempt calls its argument whenever it has received data, if wanted with the pause before the next repeat
   * @throws CommandError when no data has arrived for too long; the reason of the signal; other errors of `attempt`
   */
  untilDone<T>(attempt: (progressed: (pauseMs?: number) => void) => Promise<T>): Promise<T>;
}

async function* bytesOf({ body }: Dispatcher.ResponseData, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch {
    signal.throwIfAborted();
    throw new TemporaryError('the connection to the API is lost');
  }
}

/** The message and the code of an error response. */
async function errorOf({ statusCode, body }: Dispatcher.ResponseData): Promise<{ message: string; code?: string }> {
  const answer = (await body.json().catch(() => undefined)) as
    | { error?: { message?: string; code?: string } }
    | undefined;
  return { message: `the API answers ${statusCode}`, ...answer?.error };
}

/** @returns requests that share one API key, which is created for the first of them */
export function createApiRequests(options: ApiRequestsOptions): ApiRequests {
  const { api, newKey, onStatus, signal, giveUpAfterMs = GIVE_UP_AFTER_MS } = options;
  let key: string | undefined;
  /** Whether no request with the key has succeeded yet. */
  let isKeyNew = true;

  async function answerTo({ method = 'GET', path, body, headers }: ApiRequest): Promise<Dispatcher.ResponseData> {
    key ??= await newKey();
    try {
      return await request(`${api}${path}`, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${key}`,
          'accept-encoding': 'identity',
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch {
      signal.throwIfAborted();
      throw new TemporaryError('the API does not answer');
    }
  }

  const send: ApiRequests['send'] = async (sent) => {
    const response = await answerTo(sent);
    const { statusCode: status, headers } = response;
    if (status < 300) {
      isKeyNew = false;
      return {
        status,
        headers,
        body: bytesOf(response, signal),
        // Empty now: the client fills this object at the end of the body.
        trailers: response.trailers,
      };
    }
    const { message, code } = await errorOf(response);
    if (status === 401 && !isKeyNew) {
      [key, isKeyNew] = [undefined, true];
      throw new TemporaryError(message, 0);
    }
    if (status < 500 && status !== 429) throw new RefusedRequest(message, code);
    throw new TemporaryError(message, requestedPauseMs(headers['retry-after']?.toString()));
  };

  return {
    send,

    async json<T>(sent: ApiRequest) {
      const parts: Buffer[] = [];
      for await (const part of (await send(sent)).body) parts.push(part);
      return JSON.parse(Buffer.concat(parts).toString()) as T;
    },

    async untilDone(attempt) {
      let progressMs = performance.now();
      let waitMs = RETRY_MS_MIN;
      const progressed = (pauseMs = RETRY_MS_MIN) => {
        progressMs = performance.now();
        waitMs = pauseMs;
      };
      for (;;) {
        try {
          return await attempt(progressed);
        } catch (err) {
          signal.throwIfAborted();
          if (!(err instanceof TemporaryError)) throw err;
          const { message, retryMs } = err;
          if (performance.now() - progressMs >= giveUpAfterMs) {
            throw new CommandError(`${message}; nothing has arrived for ${Math.round(giveUpAfterMs / 1000)} s`);
          }
          onStatus(`${message}; trying again`);
          await delay(Math.max(waitMs, retryMs), undefined, { signal }).catch(() => undefined);
          signal.throwIfAborted();
          waitMs = Math.min(waitMs * 2, RETRY_MS_MAX);
        }
      }
    },
  };
}
