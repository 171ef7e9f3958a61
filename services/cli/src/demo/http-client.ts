import { Agent, request } from 'undici';

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

/**
 * An HTTP client with keep-alive connections. Unlike `fetch` it can set the Host header, and it does not follow redirects.
 *
 * @param connectionsMax for each origin
 */
export function createHttpClient(connectionsMax: number) {
  const dispatcher = new Agent({
    connections: connectionsMax,
    connectTimeout: TIMEOUT_MS,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  return {
    async send({ url, ...sent }: HttpRequest): Promise<HttpAnswer> {
      const { statusCode, headers, body } = await request(url, { ...sent, dispatcher });
      return {
        status: statusCode,
        location: headers.location?.toString(),
        retryAfter: Number(headers['retry-after']) || undefined,
        body: await body.text(),
      };
    },
    close: () => dispatcher.destroy(),
  };
}
export type HttpClient = ReturnType<typeof createHttpClient>;
