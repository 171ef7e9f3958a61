import { createRateLimiter, type RateLimiter } from '@waymark/rate-limit';
import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type AdminGuardOptions, type App, adminGuard } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

const KEY = `${'k'.repeat(31)}:`;
const MISSING = 'The admin key is missing.';
const WRONG = 'The admin key is wrong.';
const FORM =
  'The header Authorization must be "Bearer <admin key>", or Basic credentials with the admin key as the password.';
let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let rateLimiter: RateLimiter;
let app: App;
let lines: () => string;
let nextAddress = 1;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  redis.on('error', () => {});
  rateLimiter = createRateLimiter(redis, { instanceKey: Buffer.alloc(32), commandTimeoutMs: 10_000 });
});
afterEach(() => app.close());
afterAll(async () => {
  await rateLimiter.close();
  redis.disconnect();
  await server.stop();
});

function start(options: Partial<AdminGuardOptions> = {}): void {
  ({ app, lines } = aTestApp({}, async (routes) => {
    await routes.register(adminGuard, { adminKeys: [KEY], rateLimiter, ...options });
    routes.get('/ops', { config: { isPage: true } }, async () => 'plots');
    routes.get('/data', async () => 'samples');
  }));
  app.register(async (routes) => {
    routes.get('/open', async () => 'open');
  });
}

/** Sends a request from an address that has no counted requests yet. */
function request(headers: Record<string, string> = {}, remoteAddress = `203.0.113.${nextAddress++}`) {
  return app.inject({ url: '/ops', headers, remoteAddress });
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const basic = (user: string, key: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`,
});

describe('the admin key', () => {
  it.each([
    ['as a bearer token', bearer(KEY)],
    ['as the password of a user', basic('admin', KEY)],
    ['as the password without a user', basic('', KEY)],
    ['whatever the case of the scheme', { authorization: `bearer ${KEY}` }],
  ])('opens %s', async (_how, headers) => {
    start();
    const response = await request(headers);
    expect([response.statusCode, response.body]).toEqual([200, 'plots']);
  });

  it.each([
    ['none', {}, MISSING],
    ['a wrong one', bearer('x'.repeat(32)), WRONG],
    ['one that is too short', bearer(KEY.slice(1)), WRONG],
    ['as a user name', basic(KEY, ''), WRONG],
    ['Basic without a colon', { authorization: `Basic ${Buffer.from(KEY.slice(0, -1)).toString('base64')}` }, FORM],
    ['another scheme', { authorization: `Digest ${KEY}` }, FORM],
    ['a header without end', bearer(KEY + 'x'.repeat(5000)), FORM],
    ['an empty one', { authorization: '' }, FORM],
  ])('refused: %s, with a challenge that browsers understand', async (_what, headers, message) => {
    start();
    const response = await request(headers);
    expect([response.statusCode, response.json().error]).toEqual([
      401,
      expect.objectContaining({ code: 'unauthorized', message }),
    ]);
    expect(response.headers['www-authenticate']).toMatch(/^Basic realm=/);
    expect(lines()).not.toContain(KEY);
  });

  it('protects only the Fastify scope that registers it', async () => {
    start();
    expect((await app.inject('/open')).statusCode).toBe(200);
  });

  it('may be two during a rotation: both open, and the previous one no longer once it is removed', async () => {
    const previous = 'p'.repeat(40);
    start({ adminKeys: [KEY, previous] });
    const statuses = [
      await request(bearer(KEY)),
      await request(basic('admin', previous)),
      await request(bearer('x'.repeat(40))),
    ];
    expect(statuses.map(({ statusCode }) => statusCode)).toEqual([200, 200, 401]);
    await app.close();
    start({ adminKeys: [KEY] });
    expect((await request(bearer(previous))).statusCode).toBe(401);
  });

  it('rejects every request when no key is configured', async () => {
    start({ adminKeys: [] });
    expect((await request(bearer(KEY))).statusCode).toBe(401);
    expect((await request(bearer('undefined'))).statusCode).toBe(401);
  });
});

describe('guessing the key', () => {
  it('is limited to ten wrong keys per address and minute, and never blocks the correct key', async () => {
    let redisCalls = 0;
    const counting: AdminGuardOptions['rateLimiter'] = {
      take: (...args) => {
        redisCalls++;
        return rateLimiter.take(...args);
      },
    };
    start({ rateLimiter: counting });
    const guess = (key: string) => request(bearer(key), '198.51.100.7');
    for (let tries = 0; tries < 10; tries++) expect((await guess(`wrong${tries}`)).statusCode).toBe(401);
    for (let tries = 0; tries < 3; tries++) {
      const refused = await guess('wrong');
      expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect((await guess(KEY)).statusCode).toBe(200);
    }
    expect(redisCalls).toBe(11);
    expect((await request(bearer('wrong'))).statusCode).toBe(401);
  });

  it('is limited no longer than the rate limit in Redis, however often wrong keys are sent meanwhile', async () => {
    let redisCalls = 0;
    const refusing: AdminGuardOptions['rateLimiter'] = {
      async take() {
        redisCalls++;
        return { allowed: false, limit: 10, remaining: 0, resetEpochSeconds: 0, retryAfterSeconds: 1 };
      },
    };
    start({ rateLimiter: refusing });
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const startMs = Date.now();
      const calls = [];
      for (const passedMs of [0, 900, 1100]) {
        vi.setSystemTime(startMs + passedMs);
        expect((await request(bearer('wrong'), '198.51.100.9')).statusCode).toBe(429);
        calls.push(redisCalls);
      }
      expect(calls).toEqual([1, 1, 2]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is limited per IPv6 /64, whichever of its addresses are used', async () => {
    start();
    const guess = (key: string, host: number, network = 'aa') => request(bearer(key), `2001:db8:${network}::${host}`);
    for (let tries = 1; tries <= 10; tries++) expect((await guess(`wrong${tries}`, tries)).statusCode).toBe(401);
    expect((await guess('wrong', 11)).statusCode).toBe(429);
    expect((await guess('wrong', 1, 'bb')).statusCode).toBe(401);
  });

  it('is limited per address, whichever port a proxy writes behind it', async () => {
    start();
    const guess = (forwarded: string) => request({ ...bearer('wrong'), 'x-forwarded-for': forwarded }, '127.0.0.1');
    for (let port = 1; port <= 10; port++) expect((await guess(`198.51.100.11:${port}`)).statusCode).toBe(401);
    expect((await guess('198.51.100.11:11')).statusCode).toBe(429);
    expect((await guess('198.51.100.12:11')).statusCode).toBe(401);
    for (let port = 1; port <= 10; port++) expect((await guess(`[2001:db8:cc::${port}]:${port}`)).statusCode).toBe(401);
    expect((await guess('2001:db8:cc::')).statusCode).toBe(429);
  });

  it('does not count requests without a key or with the correct one', async () => {
    start();
    for (let count = 0; count < 30; count++) {
      expect((await request({}, '198.51.100.8')).statusCode).toBe(401);
      expect((await request(bearer(KEY), '198.51.100.8')).statusCode).toBe(200);
    }
  });
});

describe('a browser with the key', () => {
  const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const script = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' };
  const frame = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
  const statusOf = async (url: string, headers: Record<string, string>) =>
    (await app.inject({ url, headers: { ...basic('admin', KEY), ...headers } })).statusCode;

  it.each(['cross-site', 'same-site'])(
    'loads nothing for a page of another origin (%s), except a page that it links to',
    async (site) => {
      start();
      for (const kind of [link, script, frame, {}]) {
        const headers = { 'sec-fetch-site': site, ...kind };
        expect(await statusOf('/ops', headers)).toBe(kind === link ? 200 : 403);
        expect(await statusOf('/data', headers)).toBe(403);
      }
    },
  );

  it.each(['same-origin', 'none'])('loads everything for a page of /ops, or by its address (%s)', async (site) => {
    start();
    for (const kind of [link, script]) {
      for (const url of ['/ops', '/data']) expect(await statusOf(url, { 'sec-fetch-site': site, ...kind })).toBe(200);
    }
  });
});

describe('requests from this machine', () => {
  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('need the key as well, at %s', async (address) => {
    start();
    const local = { host: '127.0.0.1:3000' };
    expect((await request(local, address)).statusCode).toBe(401);
    expect((await request({ ...local, ...bearer(KEY) }, address)).statusCode).toBe(200);
  });
});
