import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a receiver got. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly event: { readonly id: string; readonly event: string; readonly createdAt: string; readonly data: unknown };
}

/** A local HTTP server to which webhooks are delivered. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Sets how it responds from now on; by default with 200. */
  answer(handle: (response: ServerResponse) => void): void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let handle = (response: ServerResponse): void => void response.end('thanks');
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      received.push({ headers: request.headers, text, event: JSON.parse(text) });
      handle(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A path of its own: a later receiver may get the port of an earlier one, whose webhook still exists.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${randomUUID()}`,
    received,
    answer(next) {
      handle = next;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
