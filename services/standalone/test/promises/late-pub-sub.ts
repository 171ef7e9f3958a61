import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy to Redis that delays messages to subscribers, and forwards everything else at once. */
export interface LatePubSub {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startLatePubSub(redisUrl: string, lateMs: number): Promise<LatePubSub> {
  const target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  const server = createServer((inside) => {
    const outside = connect(Number(target.port), target.hostname);
    let isSubscriber = false;
    inside.on('data', (data) => {
      isSubscriber ||= data.includes('subscribe');
      outside.write(data);
    });
    outside.on('data', (data) => {
      // Timers of the same length end in the order in which they were started.
      if (isSubscriber) setTimeout(() => inside.write(data), lateMs);
      else inside.write(data);
    });
    for (const [socket, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: Object.assign(new URL(redisUrl), { port: (server.address() as AddressInfo).port }).href.replace(/\/$/, ''),
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
