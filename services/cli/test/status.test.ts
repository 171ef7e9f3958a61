import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, it } from 'vitest';
import { runCli } from './run-cli.js';

/** Less than the limit of other commands: a query may take 30 s. */
const STATUS_MS_MAX = 20_000;

let server: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

it.concurrent('says within seconds which stores accept connections and do not answer, as a stopped process does', async ({
  expect,
}) => {
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const startedMs = performance.now();
  const { code, stdout } = await runCli(
    { REDIS_URL: `redis://${address}`, CLICKHOUSE_URL: `http://${address}`, BASE_URL: `http://${address}` },
    'status',
  );
  expect(performance.now() - startedMs).toBeLessThan(STATUS_MS_MAX);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^redis +failed: no answer within 5 s$/m);
  expect(stdout).toMatch(/^clickhouse +failed: no answer within 5 s$/m);
});

it.concurrent('migrate wait does not wait for a ClickHouse that accepts connections and does not answer longer than it may', async ({
  expect,
}) => {
  const CLICKHOUSE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const limits = ['--seconds', '60', '--unreachable-seconds', '1'];
  const { code, stdout } = await runCli({ CLICKHOUSE_URL }, 'migrate', 'wait', ...limits);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ClickHouse has been unreachable for 1 s, /)]);
});
