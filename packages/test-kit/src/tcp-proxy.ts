import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between a client and a server that simulates faults of a network. */
export interface TcpProxy {
  readonly port: number;
  /** Holds back responses from now on; requests still reach the server, also those that were held back. */
  holdAnswers(): void;
  /** Holds back requests and responses from now on; connections stay open. */
  holdRequests(): void;
  /** Holds back requests and responses from the `count`-th request with `text` on, counted from now; that request is held back, too. */
  holdRequestsAt(text: string, count: number): void;
  /** Whether requests are held back, such as since the one that `holdRequestsAt` has waited for. */
  isHoldingRequests(): boolean;
  /** Delivers everything that was held back, and passes all data again. */
  pass(): void;
  /** Silently drops all data on the open connections from now on. New connections work. */
  abandon(): void;
  /** Closes every connection; data held back is lost. New connections are accepted. */
  cut(): void;
  /** Number of request bytes that were passed on to the server. */
  requestBytes(): number;
  /** Closes every connection and the port. */
  stop(): Promise<void>;
}

/** A connection of a client, and the one to the server that belongs to it. */
interface Link {
  isAbandoned: boolean;
  readonly client: Socket;
  readonly server: Socket;
  readonly answers: Buffer[];
  readonly requests: Buffer[];
}

/** Starts a proxy to a port of this machine. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  let holds: 'nothing' | 'answers' | 'requests' = 'nothing';
  let awaited = { text: '', count: 0 };
  let requestBytes = 0;

  const toServer = (server: Socket, data: Buffer) => {
    requestBytes += data.length;
    server.write(data);
  };

  const listener = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    const link: Link = { isAbandoned: false, client, server, answers: [], requests: [] };
    links.add(link);
    client.on('data', (data) => {
      if (link.isAbandoned) return;
      if (awaited.count > 0 && data.includes(awaited.text)) {
        awaited.count -= 1;
        if (awaited.count === 0) holds = 'requests';
      }
      if (holds === 'requests') {
        link.requests.push(data);
        return;
      }
      toServer(server, data);
    });
    server.on('data', (data) => {
      if (link.isAbandoned) return;
      if (holds === 'nothing') client.write(data);
      else link.answers.push(data);
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        other.destroy();
        links.delete(link);
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));

  const cut = () => {
    for (const { client, server } of links) {
      client.destroy();
      server.destroy();
    }
  };

  const passRequests = () => {
    for (const { isAbandoned, server, requests } of links) {
      if (!isAbandoned) for (const data of requests.splice(0)) toServer(server, data);
    }
  };

  return {
    port: (listener.address() as AddressInfo).port,
    requestBytes: () => requestBytes,
    cut,
    abandon() {
      for (const link of links) link.isAbandoned = true;
    },
    holdAnswers() {
      holds = 'answers';
      passRequests();
    },
    holdRequests() {
      holds = 'requests';
    },
    holdRequestsAt(text, count) {
      awaited = { text, count };
    },
    isHoldingRequests: () => holds === 'requests',
    pass() {
      holds = 'nothing';
      awaited = { text: '', count: 0 };
      for (const { isAbandoned, client, answers } of links) {
        if (!isAbandoned) for (const data of answers.splice(0)) client.write(data);
      }
      passRequests();
    },
    async stop() {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
