import { connect, type Socket } from 'node:net';

/** A keep-alive HTTP/1.1 connection without an HTTP client, so that the load costs less CPU than the server. */
class Connection {
  readonly #socket: Socket;
  #head = '';
  /** Bytes of the response that have not arrived yet; undefined until its head has arrived. */
  #awaited: number | undefined;
  #settle: ((status: number) => void) | undefined;
  #reject: ((err: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (err) => this.#reject?.(err));
    socket.on('close', () => this.#reject?.(new Error('connection closed by the server')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  request(text: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#reject = reject;
      this.#socket.write(text, 'latin1');
    });
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  /** Responses of megabytes are counted, not joined: that would take longer than serving them. */
  #onData(chunk: Buffer): void {
    if (this.#awaited === undefined) {
      this.#head += chunk.toString('latin1');
      const headEnd = this.#head.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = /content-length: (\d+)/i.exec(this.#head.slice(0, headEnd));
      this.#awaited = headEnd + 4 + Number(length?.[1] ?? 0) - this.#head.length;
    } else {
      this.#awaited -= chunk.length;
    }
    if (this.#awaited > 0) return;
    const status = Number(this.#head.slice(9, 12));
    this.#head = '';
    this.#awaited = undefined;
    this.#settle?.(status);
  }
}

/** The result of a load: latencies in milliseconds, and the number of responses by status. */
export interface LoadReport {
  readonly latenciesMs: readonly number[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
}

interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** The complete text of request number `index`. */
  readonly request: (index: number) => string;
  readonly count: number;
}

async function withConnections(
  options: LoadOptions,
  run: (connections: Connection[], record: (status: number, latencyMs: number) => void) => Promise<void>,
): Promise<LoadReport> {
  const connections = await Promise.all(
    Array.from({ length: options.connections }, () => Connection.open(options.port)),
  );
  const latenciesMs: number[] = [];
  const statuses: Record<string, number> = {};
  const startMs = performance.now();
  try {
    await run(connections, (status, latencyMs) => {
      latenciesMs.push(latencyMs);
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
  } finally {
    for (const connection of connections) connection.close();
  }
  return { latenciesMs, statuses, seconds: (performance.now() - startMs) / 1000 };
}

/** Closed loop: each connection sends its next request when the previous one is answered. */
export function closedLoop(options: LoadOptions): Promise<LoadReport> {
  return withConnections(options, async (connections, record) => {
    let next = 0;
    await Promise.all(
      connections.map(async (connection) => {
        while (next < options.count) {
          const index = next++;
          const sentMs = performance.now();
          record(await connection.request(options.request(index)), performance.now() - sentMs);
        }
      }),
    );
  });
}

/**
 * Open loop: requests start at planned times regardless of the server, and latency is counted from the planned start, so that a stall
 * affects the latency of every request that it delays.
 */
export function openLoop(options: LoadOptions & { readonly perSecond: number }): Promise<LoadReport> {
  return withConnections(options, async (connections, record) => {
    const idle = [...connections];
    const waiting: number[] = [];
    const startMs = performance.now();
    let done = 0;
    await new Promise<void>((resolve, reject) => {
      const send = (connection: Connection, index: number) => {
        const plannedMs = startMs + (index * 1000) / options.perSecond;
        connection.request(options.request(index)).then((status) => {
          record(status, performance.now() - plannedMs);
          done += 1;
          if (done === options.count) resolve();
          const queued = waiting.shift();
          if (queued === undefined) idle.push(connection);
          else send(connection, queued);
        }, reject);
      };
      let next = 0;
      const timer = setInterval(() => {
        const due = Math.min(options.count, Math.floor(((performance.now() - startMs) * options.perSecond) / 1000));
        for (; next < due; next++) {
          // The connection that has been idle longest: a server closes unused ones.
          const connection = idle.shift();
          if (connection === undefined) waiting.push(next);
          else send(connection, next);
        }
        if (next >= options.count) clearInterval(timer);
      }, 1);
    });
  });
}
