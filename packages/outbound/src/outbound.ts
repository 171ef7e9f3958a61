import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createGuardedAgents, type OutboundOptions } from './guarded-agents.js';

/** A request to a URL that a user has chosen. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  /** `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Limit on the time of DNS lookup, connection, request and response together. */
  readonly timeoutMs: number;
  /** How many bytes of the response body are read at most; the connection is closed then. */
  readonly responseBytesMax: number;
  /**
   * Whether the status is enough: once it has arrived, a body that does not end within `timeoutMs`, or is broken off, is returned as far as it
   * was read. By default such a response is an error.
   */
  readonly acceptsPartialBody?: boolean;
}

export interface OutboundResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  /** The `Location` header, unchecked; may be relative. */
  readonly location: string | undefined;
  /** The `Retry-After` header, unchecked. */
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
  /** Whether the body was longer than `responseBytesMax`, or did not end (`acceptsPartialBody`). */
  readonly isTruncated: boolean;
}

/** Sends requests to URLs that users have chosen. */
export interface Outbound {
  /**
   * Sends one request. Redirects are returned, not followed.
   *
   * @throws AddressRefusedError for an address that is not allowed; AnswerRefusedError for an answer that keeps the connection busy without
   *   end; the error of the connection; an Error on timeout or after `close`
   */
  send(request: OutboundRequest): Promise<OutboundResponse>;
  /** Makes requests that are running fail, and closes all connections. */
  close(): void;
}

const HEADER_BYTES_MAX = 16_384;
const CLOSED = 'the client is closed';

/** Reads a response, up to `responseBytesMax` bytes of its body. */
function readResponse(
  response: IncomingMessage,
  { responseBytesMax: bytesMax, acceptsPartialBody = false }: OutboundRequest,
): Promise<OutboundResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (isTruncated: boolean) => {
      const status = response.statusCode ?? 0;
      const { 'content-type': contentType, location, 'retry-after': retryAfter } = response.headers;
      const body = Buffer.concat(chunks).subarray(0, bytesMax);
      resolve({ status, contentType, location, retryAfter, body, isTruncated });
    };
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= bytesMax) return;
      finish(true);
      response.destroy();
    });
    response.on('end', () => finish(false));
    const endEarly = (err: unknown) => (acceptsPartialBody ? finish(true) : reject(err));
    response.on('error', endEarly);
    response.on('close', () => endEarly(new Error('the answer ended early')));
  });
}

function hasCode(err: unknown, code: string): boolean {
  return err instanceof Error && 'code' in err && err.code === code;
}

/** Creates an HTTP client that connects to public and allowed addresses only. */
export function createOutbound(options: OutboundOptions): Outbound {
  const agents = createGuardedAgents(options);
  const running = new Set<ClientRequest>();
  let isClosed = false;

  const attempt = (url: URL, request: OutboundRequest, signal: AbortSignal) =>
    new Promise<OutboundResponse>((resolve, reject) => {
      const { method, headers, body = '', acceptsPartialBody = false } = request;
      let hasStatus = false;
      const [send, agent] = url.protocol === 'https:' ? [requestHttps, agents.https] : [requestHttp, agents.http];
      const outgoing = send(url, {
        agent,
        method,
        signal,
        maxHeaderSize: HEADER_BYTES_MAX,
        headers: { 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body), ...headers },
      });
      running.add(outgoing);
      outgoing.on('close', () => {
        running.delete(outgoing);
        if (!hasStatus) reject(new Error('the connection was closed without an answer'));
      });
      outgoing.on('response', (response) => {
        hasStatus = true;
        readResponse(response, request).then(resolve, reject);
      });
      outgoing.on('error', (err) => {
        // The response ends with the request, and is returned as far as it was read.
        if (hasStatus && acceptsPartialBody) return;
        // The receiver has closed an idle keep-alive connection at the moment at which it was used again: the request is sent again.
        reject(outgoing.reusedSocket && hasCode(err, 'ECONNRESET') ? new StaleConnectionError({ cause: err }) : err);
      });
      outgoing.end(body);
    });

  return {
    async send(request) {
      const url = new URL(request.url);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError('only http and https');
      if (isClosed) throw new Error(CLOSED);
      const signal = AbortSignal.timeout(request.timeoutMs);
      for (;;) {
        try {
          return await attempt(url, request, signal);
        } catch (err) {
          if (signal.aborted) throw new Error(`no answer within ${request.timeoutMs} ms`, { cause: err });
          if (!(err instanceof StaleConnectionError)) throw err;
        }
      }
    },

    close() {
      isClosed = true;
      for (const outgoing of running) outgoing.destroy(new Error(CLOSED));
      agents.close();
    },
  };
}

/** The receiver closed a reused connection before it answered, most likely while the connection was idle. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';

  constructor(options: ErrorOptions) {
    super('the connection was closed by the receiver', options);
  }
}
