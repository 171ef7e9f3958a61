import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { aCaller, type Caller, DEFAULT_DOMAIN, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let origin: string;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  await management.app.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(management.app.server.address() as AddressInfo).port}`;
});
afterAll(() => management.close());

const check = (query: string) => fetch(`${origin}/internal/domain-check${query}`);
const statusOf = async (domain: string) => (await check(`?domain=${encodeURIComponent(domain)}`)).status;

describe('GET /internal/domain-check', () => {
  it('answers 200 for a domain of any workspace, in any case and encoding, and for the shared one', async () => {
    for (const domain of [acme.host, acme.host.toUpperCase(), `${acme.host}.`, `www.${acme.host}`, DEFAULT_DOMAIN]) {
      expect([domain, await statusOf(domain)]).toEqual([domain, 200]);
    }
  });

  it('finds international names by their punycode', async () => {
    const { status } = await acme.call('POST', '/domains', { slug: `grüße.${acme.host}` });
    expect(status).toBe(201);
    expect(await statusOf(`grüße.${acme.host}`)).toBe(200);
    expect(await statusOf(`xn--gre-6ka8l.${acme.host}`)).toBe(200);
  });

  it('reveals nothing about the owner of the domain', async () => {
    const answer = await check(`?domain=${acme.host}`);
    expect(await answer.json()).toEqual({ registered: true });
  });

  it('answers 404 for unknown names, also for sub- and parent domains of registered ones', async () => {
    for (const domain of ['nobody.example', `a.${acme.host}`, 'example', '127.0.0.1']) {
      expect([domain, await statusOf(domain)]).toEqual([domain, 404]);
    }
  });

  it.each([
    ['no name', ''],
    ['an empty one', '?domain='],
    ['two', '?domain=a.example&domain=b.example'],
    ['an address', '?domain=https%3A%2F%2Fa.example'],
    ['a port', '?domain=a.example%3A443'],
    ['a wildcard', '?domain=*.a.example'],
    ['a NUL', '?domain=a%00.example'],
    ['a label that is too long', `?domain=${'a'.repeat(64)}.example`],
    ['a name that is too long', `?domain=${'a.'.repeat(2000)}example`],
  ])('%s is refused as malformed', async (_what, query) => {
    expect([400, 422]).toContain((await check(query)).status);
  });

  it('a domain is found as soon as its creation was answered, even if it was looked up before', async () => {
    for (let round = 0; round < 5; round++) {
      const slug = `new-${round}.${acme.host}`;
      expect(await statusOf(slug)).toBe(404);
      await acme.call('POST', '/domains', { slug });
      expect(await statusOf(slug)).toBe(200);
    }
  });

  it('an archived or deleted domain is rejected at once', async () => {
    for (const [method, body] of [['PATCH', { archived: true }], ['DELETE']] as const) {
      const slug = `${method.toLowerCase()}.${acme.host}`;
      await acme.call('POST', '/domains', { slug });
      expect(await statusOf(slug)).toBe(200);
      await acme.call(method, `/domains/${slug}`, body);
      expect(await statusOf(slug)).toBe(404);
    }
  });

  it('a flood of made-up names causes a bounded number of queries, and registered domains still work', async () => {
    // A window that another test has begun might end meanwhile.
    const windows = await management.redis.keys('waymark:limit:*');
    if (windows.length > 0) await management.redis.del(windows);
    const reads = vi.spyOn(management.database.client, 'rows');
    const names = Array.from({ length: 400 }, (_, index) => `flood-${index}.example`);
    const statuses = await Promise.all(names.map((name) => statusOf(name)));
    expect(new Set(statuses)).toEqual(new Set([404, 429]));
    // 120 names in a minute and one read a batch. While the requests are sent, the limit lets a few more pass.
    expect(reads.mock.calls.length).toBeGreaterThan(0);
    expect(reads.mock.calls.length).toBeLessThan(200);
    reads.mockRestore();
    expect(await statusOf(acme.host)).toBe(200);
    const refused = await check('?domain=one-more.example');
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });

  it('registered names are accepted at any rate while made-up ones are rejected', async () => {
    const slugs = Array.from({ length: 15 }, (_, index) => `known-${index}.${acme.host}`);
    for (const slug of slugs) expect((await acme.call('POST', '/domains', { slug })).status).toBe(201);
    const madeUp = await Promise.all(Array.from({ length: 300 }, (_, index) => statusOf(`made-up-${index}.example`)));
    expect(madeUp).toContain(429);
    // Without cached results each counts as the first request for its name.
    const keys = await management.redis.keys('waymark:cache:*');
    await management.redis.del(keys);
    const checks = Array.from({ length: 300 }, (_, index) => slugs[index % slugs.length] ?? '');
    expect(new Set(await Promise.all(checks.map(statusOf)))).toEqual(new Set([200]));
  });
});
