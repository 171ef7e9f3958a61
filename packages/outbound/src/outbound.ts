import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { AddressRefusedError, createAddressGuard } from './address-guard.js';
import { createGuardedLookup, createHostResolver, type ResolveHost } from './guarded-lookup.js';

export interface OutboundOptions {
  /** Addresses and CIDR ranges that may be connected to although they are not public. */
  readonly allowedRanges: readonly string[];
  /** How hosts are resolved; by the name servers unless given. */
  readonly resolveHost?: ResolveHost;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  /** `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For all of it: look-up, connection, request, answer. */
  readonly timeoutMs: number;
  /** What is read of the answer's body; the rest is never received. */
  readonly answerBytesMax: number;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Where a redirect leads: as it was sent, perhaps relative, and not checked. */
  readonly location: string | undefined;
  readonly body: Buffer;
  /** The body was longer than `answerBytesMax`. */
  readonly isCut: boolean;
}

/** Requests to addresses that strangers choose. */
export interface Outbound {
  /**
   * Sends one request. Redirects are not followed: they are answers like others.
   *
   * @throws AddressRefusedError, or whatever kept the answer from arriving in time
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
  close(): void;
}

const IDLE_CONNECTION_MS = 15_000;
const IDLE_CONNECTIONS_PER_HOST = 16;
const HEADER_BYTES_MAX = 16_384;

function readAnswer(response: IncomingMessage, bytesMax: number): Promise<OutboundAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (isCut: boolean) => {
      const status = response.statusCode ?? 0;
      const { 'content-type': contentType, location } = response.headers;
      resolve({ status, contentType, location, body: Buffer.concat(chunks).subarray(0, bytesMax), isCut });
    };
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= bytesMax) return;
      finish(true);
      response.destroy();
    });
    response.on('end', () => finish(false));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the answer ended early')));
  });
}

function hasCode(err: unknown, code: string): boolean {
  return err instanceof Error && 'code' in err && err.code === code;
}

/** A client that connects to public addresses and to those allowed, whatever names and redirects say. */
export function createOutbound({ allowedRanges, resolveHost = createHostResolver() }: OutboundOptions): Outbound {
  const guard = createAddressGuard(allowedRanges);
  const lookup = createGuardedLookup(guard, resolveHost);
  const agentOptions = {
    keepAlive: true,
    lookup,
    timeout: IDLE_CONNECTION_MS,
    maxFreeSockets: IDLE_CONNECTIONS_PER_HOST,
  };
  const httpAgent = new HttpAgent(agentOptions);
  const httpsAgent = new HttpsAgent(agentOptions);

  /** A host that is an address itself is connected to without a look-up. */
  const checkHost = ({ protocol, hostname }: URL) => {
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('only http and https');
    const address = hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !guard.allows(address)) throw new AddressRefusedError();
  };

  const attempt = (url: URL, request: OutboundRequest, signal: AbortSignal) =>
    new Promise<OutboundAnswer>((resolve, reject) => {
      const { method, headers, body = '' } = request;
      const [send, agent] = url.protocol === 'https:' ? [requestHttps, httpsAgent] : [requestHttp, httpAgent];
      const outgoing = send(url, {
        agent,
        method,
        signal,
        maxHeaderSize: HEADER_BYTES_MAX,
        headers: { 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body), ...headers },
      });
      outgoing.on('response', (response) => readAnswer(response, request.answerBytesMax).then(resolve, reject));
      outgoing.on('error', (err) =>
        // A kept connection that the other side closed just then: it has not seen the request.
        reject(outgoing.reusedSocket && hasCode(err, 'ECONNRESET') ? new StaleConnectionError({ cause: err }) : err),
      );
      outgoing.end(body);
    });

  return {
    async send(request) {
      const url = new URL(request.url);
      checkHost(url);
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
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';

  constructor(options: ErrorOptions) {
    super('the connection was closed by the receiver', options);
  }
}
