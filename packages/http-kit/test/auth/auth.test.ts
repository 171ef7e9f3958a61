import type { ApiKeyRecord, WorkspaceRecord } from '@waymark/catalog';
import { PLAN_LIMITS, PLANS, ROLES } from '@waymark/contract';
import { createRateLimiter, type RateLimiter } from '@waymark/rate-limit';
import { anApiKeyRecord, aWorkspaceRecord, BUILDER_WORKSPACE_ID, startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type App, authPlugin, type RouteRequirements } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let rateLimiter: RateLimiter;
let app: App;
let lines: () => string;
let count = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  redis.on('error', () => {});
  // A long time-out, so that a slow machine does not look like an unavailable Redis.
  rateLimiter = createRateLimiter(redis, { instanceKey: Buffer.alloc(32), commandTimeoutMs: 10_000 });
});
afterEach(() => app.close());
afterAll(async () => {
  await rateLimiter.close();
  redis.disconnect();
  await server.stop();
});

const NOW = Date.parse('2026-06-01T00:00:00.000Z');

interface Given {
  readonly key?: Partial<ApiKeyRecord>;
  /** Null = the workspace was deleted. */
  readonly workspace?: Partial<WorkspaceRecord> | null;
  readonly route?: RouteRequirements;
  readonly now?: () => number;
}

/** Starts an app with one unused key and a route that validates its query. */
function start(given: Given = {}): string {
  count += 1;
  const token = `dub_${String(count).padStart(24, '0')}`;
  const key = anApiKeyRecord({ keyHash: String(count).padStart(64, '0'), ...given.key });
  const workspace = given.workspace === null ? undefined : aWorkspaceRecord(given.workspace);
  const started = aTestApp();
  app = started.app;
  lines = started.lines;
  app.register(authPlugin, {
    catalog: { keys: { authenticate: async (given) => (given === token ? { key, workspace } : undefined) } },
    rateLimiter,
    now: given.now ?? Date.now,
  });
  app.register(async (routes: App) => {
    const onRequest = routes.authenticate(given.route ?? {});
    const schema = { querystring: z.object({ limit: z.coerce.number().max(10).optional() }) };
    routes.get('/events', { onRequest, schema }, async (request) => ({
      workspaceId: request.workspace.id,
      keyId: request.apiKey.id,
    }));
    routes.post('/track', { onRequest, schema: { body: z.object({ a: z.string() }) } }, async () => ({ ok: true }));
    routes.get('/boom', { onRequest }, async () => {
      throw new Error('boom');
    });
  });
  return token;
}

const call = (token: string | undefined, url = '/events') =>
  app.inject({ url, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });

async function statusAndCode(token: string | undefined, url?: string): Promise<readonly [number, string]> {
  const response = await call(token, url);
  return [response.statusCode, response.json().error?.code];
}

const PAST = '2026-05-31T23:59:59.999Z';
const READ_ONLY = { scopes: ['links.read'] as const } as unknown as Partial<ApiKeyRecord>;

describe('a request with a valid key', () => {
  it('gets its workspace from the key alone; a workspaceId parameter is ignored', async () => {
    const token = start({ key: { id: 'key_00000000007' } });
    const response = await call(token, '/events?workspaceId=ws_zzzzzzzzzzz');
    expect(response.json()).toEqual({ workspaceId: BUILDER_WORKSPACE_ID, keyId: 'key_00000000007' });
  });

  it('is accepted until the key expires', async () => {
    const token = start({ key: { expiresAt: '2026-06-01T00:00:00.001Z' }, now: () => NOW });
    expect((await call(token)).statusCode).toBe(200);
  });
});

describe('the order of checks, by row of the table', () => {
  it.each<[string, Record<string, string>]>([
    ['1: no header', {}],
    ['1: an empty header', { authorization: '' }],
    ['2: another scheme', { authorization: 'Basic ZHViOmR1Yg==' }],
    ['2: a bare key', { authorization: 'dub_000000000000000000000001' }],
    ['2: another case', { authorization: 'bearer dub_000000000000000000000001' }],
    ['3: no key', { authorization: 'Bearer ' }],
    ['3: a blank key', { authorization: 'Bearer    ' }],
    ['3: an unknown key', { authorization: 'Bearer dub_zzzzzzzzzzzzzzzzzzzzzzzz' }],
    ['3: a key of 60 kB', { authorization: `Bearer dub_${'z'.repeat(60_000)}` }],
  ])('%s answers 401', async (_row, headers) => {
    start();
    const response = await app.inject({ url: '/events', headers });
    expect(response.statusCode).toBe(401);
    expect(response.json().error.code).toBe('unauthorized');
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  it('3: a publishable key is rejected on these routes', async () => {
    expect(await statusAndCode(start({ key: { kind: 'publishable' } }))).toEqual([401, 'unauthorized']);
  });

  it('4: an expired key answers 401', async () => {
    expect(await statusAndCode(start({ key: { expiresAt: PAST }, now: () => NOW }))).toEqual([401, 'unauthorized']);
  });

  it('5: beyond the rate limit answers 429', async () => {
    const token = start({ workspace: { requestsPerMinute: 2 } });
    await call(token);
    await call(token);
    expect(await statusAndCode(token)).toEqual([429, 'rate_limit_exceeded']);
  });

  it('6: a deleted workspace answers 404', async () => {
    expect(await statusAndCode(start({ workspace: null }))).toEqual([404, 'not_found']);
  });

  it('7: a missing permission answers 403 and the message names it', async () => {
    const token = start({ key: READ_ONLY, route: { permission: 'links.write' } });
    const response = await call(token);
    expect(response.statusCode).toBe(403);
    expect(response.json().error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('links.write') });
  });

  it.each(ROLES.map((role) => [role, role === 'owner' || role === 'member' ? 200 : 403] as const))(
    '8: where owner or member is needed, %s answers %i',
    async (role, status) => {
      const token = start({ key: { role }, route: { roles: ['owner', 'member'] } });
      expect((await call(token)).statusCode).toBe(status);
    },
  );

  it.each(PLANS.map((plan) => [plan, PLANS.indexOf(plan) >= PLANS.indexOf('business') ? 200 : 403] as const))(
    '9: where business is needed, plan %s answers %i',
    async (plan, status) => {
      const token = start({ workspace: { plan }, route: { minimumPlan: 'business' } });
      expect((await call(token)).statusCode).toBe(status);
    },
  );

  it('10: the plan is checked before the parameters: a Pro key on /events gets 403, not 422', async () => {
    const route = { permission: 'analytics.read', minimumPlan: 'business', bucket: 'analytics' } as const;
    expect(await statusAndCode(start({ workspace: { plan: 'pro' }, route }), '/events?limit=99')).toEqual([
      403,
      'forbidden',
    ]);
    await app.close();
    expect((await statusAndCode(start({ route }), '/events?limit=99'))[0]).toBe(422);
  });

  it('the rows are checked in order: the response is that of the first failure', async () => {
    const route = { permission: 'links.write', roles: ['owner'], minimumPlan: 'enterprise' } as const;
    const faults: readonly [Given, number, string][] = [
      [{ key: { expiresAt: PAST } }, 401, 'expired'],
      [{ workspace: null }, 404, 'workspace'],
      [{ key: { ...READ_ONLY, role: 'member' }, workspace: { plan: 'free' } }, 403, 'links.write'],
      [{ key: { role: 'member' }, workspace: { plan: 'free' } }, 403, 'role'],
      [{ workspace: { plan: 'free' } }, 403, 'plan'],
    ];
    let worse: Given = {};
    for (const [given, status, word] of [...faults].reverse()) {
      worse = {
        ...worse,
        ...given,
        key: { ...worse.key, ...given.key },
        ...(given.workspace === undefined ? {} : { workspace: given.workspace }),
      };
      const token = start({ ...worse, route, now: () => NOW });
      const response = await call(token, '/events?limit=99');
      expect([response.statusCode, response.json().error.message]).toEqual([status, expect.stringContaining(word)]);
      await app.close();
    }
  });

  it('the rate limit is checked after the expiry and before everything else', async () => {
    const route = { permission: 'links.write' } as const;
    const token = start({ key: READ_ONLY, workspace: { requestsPerMinute: 1 }, route });
    expect((await call(token)).statusCode).toBe(403);
    expect((await call(token)).statusCode).toBe(429);
  });

  it.each([{}, { 'content-type': 'text/html' }, { 'content-type': 'text/plain' }])(
    'the body is neither read nor validated before the key is checked: %j',
    async (headers) => {
      start();
      const response = await app.inject({ method: 'POST', url: '/track', headers, body: '{' });
      expect(response.statusCode).toBe(401);
    },
  );
});

describe('rate limits', () => {
  const limitsOf = (response: { headers: Record<string, unknown> }) => [
    response.headers['x-ratelimit-limit'],
    response.headers['x-ratelimit-remaining'],
  ];

  it.each(PLANS)('plan %s has its limit of requests per minute', async (plan) => {
    const limit = PLAN_LIMITS[plan].requestsPerMinute;
    expect(limitsOf(await call(start({ workspace: { plan } })))).toEqual([String(limit), String(limit - 1)]);
  });

  it.each(PLANS.filter((plan) => plan !== 'free'))(
    'plan %s has its limit of analytics requests per second',
    async (plan) => {
      const limit = PLAN_LIMITS[plan].analyticsPerSecond;
      const response = await call(start({ workspace: { plan }, route: { bucket: 'analytics' } }));
      expect(limitsOf(response)).toEqual([String(limit), String(limit - 1)]);
      expect(Number(response.headers['x-ratelimit-reset'])).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 1);
    },
  );

  it('limits set by an operator take precedence over the plan’s', async () => {
    const workspace = { plan: 'pro', requestsPerMinute: 7, analyticsPerSecond: 5 } as const;
    expect(limitsOf(await call(start({ workspace })))).toEqual(['7', '6']);
    await app.close();
    expect(limitsOf(await call(start({ workspace, route: { bucket: 'analytics' } })))).toEqual(['5', '4']);
  });

  it('the free plan has no access to analytics: always 403, never 429', async () => {
    const token = start({ workspace: { plan: 'free' }, route: { bucket: 'analytics' } });
    for (let request = 0; request < 5; request++) {
      const response = await call(token);
      expect([response.statusCode, ...limitsOf(response)]).toEqual([403, '0', '0']);
    }
  });

  it('an operator can close analytics to a workspace of any plan', async () => {
    const token = start({ workspace: { analyticsPerSecond: 0 }, route: { bucket: 'analytics' } });
    expect(await statusAndCode(token)).toEqual([403, 'forbidden']);
  });

  it('the two buckets are counted separately, under names that reveal nothing about the key', async () => {
    const keyHash = 'b'.repeat(64);
    const before = new Set(await redis.keys('*'));
    const standard = start({ key: { keyHash }, workspace: { requestsPerMinute: 1 } });
    await call(standard);
    expect((await call(standard)).statusCode).toBe(429);
    await app.close();
    const analytics = start({ key: { keyHash }, route: { bucket: 'analytics' } });
    expect((await call(analytics)).statusCode).toBe(200);
    const names = (await redis.keys('*')).filter((name) => !before.has(name));
    expect(names).toHaveLength(2);
    expect(names.join(' ')).not.toMatch(new RegExp(`dub_|${keyHash}`));
  });

  it('the headers of a 429 have the time of a retry: whole seconds, epoch seconds', async () => {
    const token = start({ workspace: { requestsPerMinute: 1 } });
    const startedSeconds = Date.now() / 1000;
    await call(token);
    const response = await call(token);
    const endedSeconds = Date.now() / 1000;
    const retryAfter = Number(response.headers['retry-after']);
    const reset = Number(response.headers['x-ratelimit-reset']);
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(retryAfter).toBeGreaterThanOrEqual(59 - (endedSeconds - startedSeconds));
    expect(reset - retryAfter).toBeGreaterThanOrEqual(startedSeconds - 1);
    expect(reset - retryAfter).toBeLessThanOrEqual(endedSeconds + 1);
    expect(limitsOf(response)).toEqual(['1', '0']);
  });

  it('the headers are on every response: success, 4xx, invalid input, internal error', async () => {
    const token = start({ workspace: { requestsPerMinute: 100 } });
    const answers = [
      await call(token),
      await call(token, '/events?limit=99'),
      await call(token, '/boom'),
      await app.inject({
        method: 'POST',
        url: '/track',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{',
      }),
      await app.inject({
        method: 'POST',
        url: '/track',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ a: 'x'.repeat(2_000_000) }),
      }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 422, 500, 400, 400]);
    expect(answers.map((answer) => limitsOf(answer))).toEqual(
      [99, 98, 97, 96, 95].map((remaining) => ['100', String(remaining)]),
    );
    for (const answer of answers) {
      expect(answer.headers['x-ratelimit-reset']).toMatch(/^\d{10}$/);
      expect(answer.headers).not.toHaveProperty('retry-after');
    }
  });
});

it('API keys appear in no log line', async () => {
  const token = start();
  await call(token);
  await call(token, '/boom');
  await call('dub_zzzzzzzzzzzzzzzzzzzzzzzz');
  expect(lines()).toContain('boom');
  expect(lines()).not.toMatch(new RegExp(`${token}|dub_zzz`));
});

it('an unavailable catalog is an internal error, not an invalid key', async () => {
  const started = aTestApp();
  app = started.app;
  app.register(authPlugin, {
    catalog: { keys: { authenticate: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:8123')) } },
    rateLimiter,
  });
  app.register(async (routes: App) => {
    routes.get('/events', { onRequest: routes.authenticate({}) }, async () => ({}));
  });
  const response = await call('dub_000000000000000000000001');
  expect(response.statusCode).toBe(500);
  expect(response.body).not.toContain('10.0.0.7');
});

// Last, because it stops the shared Redis.
it('without Redis requests still succeed and are counted in memory', async () => {
  const token = start({ workspace: { requestsPerMinute: 3 } });
  expect((await call(token)).statusCode).toBe(200);
  await server.kill9();
  const startedAt = performance.now();
  const statuses = [];
  for (let request = 0; request < 4; request++) statuses.push((await call(token)).statusCode);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
