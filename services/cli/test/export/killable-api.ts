import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type ForkedService, forkService, freePort } from '@waymark/test-kit';

/** An API process behind a proxy that does something after a number of bytes, so that it never comes too early or too late. */
export interface KillableApi {
  /** Of the proxy. */
  readonly url: string;
  /** Once that many bytes of responses have passed, holds back the rest and calls `action`. */
  after(bytes: number, action: () => Promise<unknown>): void;
  /** Passes all bytes again that arrive from now on. */
  pass(): void;
  /** Ends the process with SIGKILL, and starts it again. Open connections are cut. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** @param env settings of the process: the stores and DATA_DIR */
export async function startKillableApi(env: Readonly<Record<string, string>>): Promise<KillableApi> {
  const [apiPort, linkPort] = [await freePort(), await freePort()];
  let api: ForkedService;
  async function start(): Promise<void> {
    api = forkService(new URL('../../../standalone/dist/http.js', import.meta.url), {
      ...{ ...env, API_PORT: String(apiPort), LINK_PORT: String(linkPort) },
    });
    await api.ready();
  }

  const sockets = new Set<Socket>();
  let left = Number.POSITIVE_INFINITY;
  let action: () => Promise<unknown> = async () => undefined;
  const proxy = createServer((client) => {
    const server = connect(apiPort, '127.0.0.1');
    server.on('data', (data) => {
      if (left <= 0) return;
      left -= data.length;
      if (left > 0) client.write(data);
      else void action();
    });
    client.on('data', (data) => server.write(data));
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await Promise.all([start(), once(proxy.listen(0, '127.0.0.1'), 'listening')]);

  const pass = () => {
    left = Number.POSITIVE_INFINITY;
  };
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    after(bytes, then) {
      [left, action] = [bytes, then];
    },
    pass,
    async restart() {
      await api.kill9();
      pass();
      await start();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await api.kill9();
    },
  };
}
