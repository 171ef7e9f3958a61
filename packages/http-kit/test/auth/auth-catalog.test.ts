import { randomBytes } from 'node:crypto';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { createRateLimiter, type RateLimiter } from '@waymark/rate-limit';
import { createTestDatabase, startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, authPlugin } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

let server: Awaited<ReturnType<typeof startRedis>>;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let redis: Redis;
let catalog: Catalog;
let rateLimiter: RateLimiter;
let app: App;

beforeAll(async () => {
  [server, database] = await Promise.all([startRedis(), createTestDatabase()]);
  redis = new Redis(server.url);
  redis.on('error', () => {});
  catalog = createCatalog({
    redis,
    clickhouse: database.client,
    instanceKey: randomBytes(32),
    now: Date.now,
    logger: { warn: () => {} },
    baseUrl: 'https://api.example.com',
  });
  rateLimiter = createRateLimiter(redis, { instanceKey: Buffer.alloc(32), commandTimeoutMs: 10_000 });
  ({ app } = aTestApp());
  app.register(authPlugin, { catalog, rateLimiter });
  app.register(async (routes: App) => {
    const onRequest = routes.authenticate({ permission: 'links.write', minimumPlan: 'pro' });
    routes.post('/links', { onRequest }, async (request) => ({ workspaceId: request.workspace.id }));
  });
});
afterAll(async () => {
  await app.close();
  await rateLimiter.close();
  await catalog.close();
  redis.disconnect();
  await Promise.all([server.stop(), database.drop()]);
});

const post = (token: string) =>
  app.inject({ method: 'POST', url: '/links', headers: { authorization: `Bearer ${token}` } });

it('keys of a real catalog are accepted, rejected by scope and plan, and rejected once revoked', async () => {
  const { workspace, apiKey, publishableKey } = await catalog.workspaces.create({
    name: 'Acme',
    slug: 'acme',
    plan: 'pro',
  });
  const reading = await catalog.keys.create({
    workspaceId: workspace.id,
    name: 'reading',
    kind: 'secret',
    role: 'owner',
    scopes: ['links.read'],
  });

  const response = await post(apiKey.token);
  expect(response.json()).toEqual({ workspaceId: workspace.id });
  expect(response.headers['x-ratelimit-limit']).toBe('600');
  expect((await post(publishableKey.token)).statusCode).toBe(401);
  expect((await post(`${apiKey.token}x`)).statusCode).toBe(401);
  expect((await post(reading.token)).json().error.message).toContain('links.write');

  await catalog.workspaces.update(workspace.id, { plan: 'free', requestsPerMinute: 500 });
  await waitFor(async () => (await post(apiKey.token)).statusCode === 403, { what: 'the smaller plan' });
  expect((await post(apiKey.token)).headers['x-ratelimit-limit']).toBe('500');

  await catalog.keys.revoke(workspace.id, apiKey.record.id);
  await waitFor(async () => (await post(apiKey.token)).statusCode === 401, { what: 'the key’s end' });
});
