import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a stub received. */
export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What a stub answers: JSON, or a text as it is. */
export interface StubAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

export interface StubServer {
  readonly address: string;
  readonly requests: StubRequest[];
  close(): Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** A source on this machine. */
export async function startStub(answer: (request: StubRequest, number: number) => StubAnswer): Promise<StubServer> {
  const requests: StubRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://stub');
    const { method = '', headers } = incoming;
    const query = Object.fromEntries(url.searchParams);
    const request = { method, path: url.pathname, query, headers, body: await bodyOf(incoming) };
    requests.push(request);
    const {
      status = 200,
      headers: own = {},
      json,
      text = JSON.stringify(json ?? null),
    } = answer(request, requests.length);
    response.writeHead(status, { 'content-type': 'application/json', ...own }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
