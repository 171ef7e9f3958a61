import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What the gate does with connections: forwards them, refuses them, or leaves them without a response. */
type GateState = 'open' | 'refusing' | 'hanging';

/** A TCP proxy in front of a real store, with which a test takes the store away from one client only. */
export interface StoreGate {
  readonly url: string;
  /** Applies to new connections; existing ones are closed (refusing) or no longer forwarded (hanging). */
  set(state: GateState): void;
  /** Calls `test` with every chunk from a client; if it returns true, the connection is closed before the response arrives. */
  cutAfter(test: (chunk: string) => boolean): void;
  close(): Promise<void>;
}

export async function startGate(targetUrl: string): Promise<StoreGate> {
  const target = new URL(targetUrl);
  let state: GateState = 'open';
  let shouldCut: (chunk: string) => boolean = () => false;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  };
  const server = createServer((inside) => {
    keep(inside);
    if (state === 'refusing') {
      inside.destroy();
      return;
    }
    const outside = connect(Number(target.port), target.hostname);
    keep(outside);
    let isCut = false;
    inside.on('data', (chunk) => {
      if (state === 'hanging') return;
      isCut ||= shouldCut(chunk.toString('latin1'));
      outside.write(chunk);
    });
    outside.on('data', (chunk) => {
      if (isCut) inside.destroy();
      else if (state !== 'hanging') inside.write(chunk);
    });
    inside.once('close', () => outside.destroy());
    outside.once('close', () => inside.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: Object.assign(new URL(targetUrl), { port: (server.address() as AddressInfo).port }).href.replace(/\/$/, ''),
    set(next) {
      state = next;
      if (next === 'refusing') for (const socket of sockets) socket.destroy();
    },
    cutAfter(test) {
      shouldCut = test;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
