import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy between a service and ClickHouse that measures how long the service waits for it. */
export interface TimedProxy {
  readonly url: string;
  /** Milliseconds since the last call in which at least one statement was in progress. */
  takeBusyMs(): number;
  stop(): void;
}

/** Parameters are sent in the URL. */
const HEADER_BYTES_MAX = 1024 * 1024;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The total length of the spans, without gaps and counting overlaps once. */
function unionMs(spans: readonly Span[]): number {
  let total = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    total += Math.max(0, toMs - Math.max(fromMs, reached));
    reached = Math.max(reached, toMs);
  }
  return total;
}

export async function startTimedProxy(target: string): Promise<TimedProxy> {
  const agent = new Agent({ keepAlive: true });
  let spans: Span[] = [];
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (incoming, outgoing) => {
    const fromMs = performance.now();
    const { method, headers } = incoming;
    const onwards = request(
      new URL(incoming.url ?? '/', new URL(target).origin),
      { method, headers, agent },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
        answer.once('end', () => spans.push({ fromMs, toMs: performance.now() }));
      },
    );
    onwards.once('error', () => outgoing.destroy());
    incoming.pipe(onwards);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: Object.assign(new URL(target), { port: (server.address() as AddressInfo).port }).href.replace(/\/$/, ''),
    takeBusyMs() {
      const busyMs = unionMs(spans);
      spans = [];
      return busyMs;
    },
    stop() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}
