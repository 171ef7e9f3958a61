import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestWorkspace } from '../test-query.js';

type Parameters = Readonly<Record<string, string>>;

/** A complete response with its trailers. */
export interface Exported {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
}

function portOf({ query }: TestWorkspace): number {
  return (query.app.server.address() as AddressInfo).port;
}

/** Requests an export and reads it to its end, without compression. The app must listen. */
export async function exported(
  workspace: TestWorkspace,
  parameters: Parameters,
  path = '/events/export',
): Promise<Exported> {
  const request = httpRequest({
    port: portOf(workspace),
    path: `${path}?${new URLSearchParams(parameters)}`,
    headers: { authorization: `Bearer ${workspace.token}` },
  });
  const [response] = (await once(request.end(), 'response')) as [IncomingMessage];
  const body = await text(response);
  return { status: response.statusCode ?? 0, headers: response.headers, trailers: response.trailers, text: body };
}

/** Requests an export, and leaves its body to the caller. */
export function startExport(
  workspace: TestWorkspace,
  parameters: Parameters,
  headers: Parameters = { 'accept-encoding': 'identity' },
  path = '/events/export',
): Promise<Response> {
  return fetch(`http://127.0.0.1:${portOf(workspace)}${path}?${new URLSearchParams(parameters)}`, {
    headers: { authorization: `Bearer ${workspace.token}`, ...headers },
  });
}
