import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createClickHouseClient } from '@waymark/clickhouse';
import { createExportSlots } from '@waymark/export';
import { createLogger, disconnectSignal } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { startRedis } from '@waymark/test-kit';
import type { FastifyReply } from 'fastify';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildApp } from '../src/index.js';
import { aWorkspace, DOC_BASE, startQuery, type TestQuery } from './test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
});
afterAll(() => query.close());

/** Starts the service with a ClickHouse that accepts queries and never responds. */
async function startWithSilentClickHouse() {
  const silent = createServer();
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const rateLimiter = createRateLimiter(client, { instanceKey: Buffer.alloc(32) });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const clickhouse = createClickHouseClient({
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    database: 'default',
    // Longer than a test: only the cancellation ends a query.
    requestTimeoutMs: 600_000,
  });
  const app = buildApp(
    { logger: createLogger({ name: 'test', level: 'silent' }), docBase: DOC_BASE, trustedProxies: [] },
    {
      ...query.jobs,
      catalog: query.catalog,
      clickhouse,
      redis: client,
      queueShards: [client],
      rateLimiter,
      exportSlots: createExportSlots(),
      now: Date.now,
    },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await app.close();
    await rateLimiter.close();
    client.disconnect();
    await clickhouse.close();
    silent.closeAllConnections();
    silent.close();
    await redis.stop();
  });
  return { silent, port: (app.server.address() as AddressInfo).port };
}

test.each(['/events', '/analytics'])('queries of %s are cancelled when the client disconnects', async (path) => {
  const workspace = await aWorkspace(query);
  const { silent, port } = await startWithSilentClickHouse();
  const connection = connect(port, '127.0.0.1');
  connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${workspace.token}\r\n\r\n`);
  const [received] = (await once(silent, 'request')) as [IncomingMessage];
  const ended = once(received.socket, 'close');
  connection.destroy();
  await ended;
  expect(received.socket.destroyed).toBe(true);
});

test('queries of a client that has disconnected before they start are cancelled', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  connection.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const closed = once(response, 'close');
  connection.destroy();
  await closed;
  expect(disconnectSignal({ raw: response, request: { raw: request } } as FastifyReply).aborted).toBe(true);
});
