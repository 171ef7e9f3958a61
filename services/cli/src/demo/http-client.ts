import { Agent, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';

/** A response with its whole body. */
export interface HttpAnswer {
  readonly status: number;
  readonly location: string | undefined;
  /** Seconds from the Retry-After header. */
  readonly retryAfter: number | undefined;
  readonly body: string;
}

/** A request of the demo. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TIMEOUT_MS = 10_000;

/** An HTTP client with keep-alive connections. Unlike `fetch` it can set the Host header, and it does not follow redirects. */
export function createHttpClient(connectionsMax: number) {
  const agents = {
    'http:': new Agent({ keepAlive: true, maxSockets: connectionsMax }),
    'https:': new TlsAgent({ keepAlive: true, maxSockets: connectionsMax }),
  };

  function send({ method, url, headers, body }: HttpRequest): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const isTls = url.protocol === 'https:';
      const options = { method, headers, agent: isTls ? agents['https:'] : agents['http:'], timeout: TIMEOUT_MS };
      const sent = (isTls ? tlsRequest : request)(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            location: response.headers.location,
            retryAfter: Number(response.headers['retry-after']) || undefined,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      });
      sent.on('timeout', () => sent.destroy(new Error(`no answer from ${url.origin} in ${TIMEOUT_MS} ms`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  return {
    send,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
export type HttpClient = ReturnType<typeof createHttpClient>;
