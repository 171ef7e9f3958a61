import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ErrorBody, ImportJob } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { expect, onTestFinished } from 'vitest';
import type { TestManagement } from '../test-management.js';

export interface Reply<Body = ImportJob & ErrorBody> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

/** A caller of the routes of imports over a real connection. */
export function importsOf({ app }: TestManagement, token: string) {
  const { port } = app.server.address() as AddressInfo;
  async function send(method: string, path: string, init: RequestInit = {}): Promise<Reply> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, method, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
  }

  function form(
    content: string | Uint8Array<ArrayBuffer>,
    fields: Readonly<Record<string, string>> = {},
    name = 'links.csv',
  ) {
    const body = new FormData();
    for (const [field, value] of Object.entries({ source: 'csv', ...fields })) body.append(field, value);
    body.append('file', new Blob([content]), name);
    return body;
  }

  async function ended(id: string): Promise<ImportJob> {
    return waitFor(
      async () => {
        const { body } = await send('GET', `/imports/${id}`);
        return ['queued', 'processing'].includes(body.status) ? undefined : body;
      },
      { what: 'the end of the import' },
    );
  }

  const upload = (...args: Parameters<typeof form>) => send('POST', '/imports', { body: form(...args) });
  return {
    send,
    ended,
    upload,
    post: (body: unknown) =>
      send('POST', '/imports', { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    /** Imports a file to the end. */
    async run(...args: Parameters<typeof form>): Promise<ImportJob> {
      const { status, text, body } = await upload(...args);
      expect([status, text]).toEqual([202, expect.any(String)]);
      return ended(body.id);
    },
  };
}

/** A server in place of the API of a source. @param answer status, headers and JSON for each request */
export async function startSource(
  answer: (request: IncomingMessage) => readonly [number, Readonly<Record<string, string>>, unknown],
) {
  const server = createServer((request, response) => {
    const [status, headers, body] = answer(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const KEY = 'key-of-the-source-1234';

/** A Kutt server with two pages, which requires a wait before the second while `isBusy`. */
export async function startKutt() {
  const state = { isBusy: true, requests: [] as (string | undefined)[], firstPages: 0 };
  const source = await startSource((request) => {
    state.requests.push(request.headers['x-api-key'] as string | undefined);
    if (request.headers['x-api-key'] !== KEY)
      return [401, {}, { error: `no such key: ${request.headers['x-api-key']}` }];
    const skip = Number(new URL(request.url ?? '', 'http://x').searchParams.get('skip'));
    if (skip === 0) state.firstPages++;
    if (skip === 1 && state.isBusy) return [429, { 'retry-after': '3600' }, {}];
    const links = [
      { address: 'a', target: 'https://a.test' },
      { address: 'b', target: 'https://b.test' },
    ];
    return [200, {}, { data: links.slice(skip, skip + 1) }];
  });
  onTestFinished(source.close);
  return { state, body: { source: 'kutt', address: source.address, credentials: { apiKey: KEY } } };
}
