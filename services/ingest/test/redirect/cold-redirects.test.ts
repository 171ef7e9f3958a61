import { createCatalog, type NewLink } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { type App, createLogger } from '@waymark/http-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/admission.js';
import { buildLinkApp } from '../../src/index.js';
import { BROWSER, startIngest, type TestIngest } from '../test-ingest.js';

const logger = createLogger({ name: 'test', level: 'silent' });
const PAST = new Date(Date.now() - 1000).toISOString();

let ingest: TestIngest;
/** The links of a process that has just started, and does not reach ClickHouse. */
let app: App;
const closers: (() => Promise<unknown>)[] = [];

async function processWith(redis: Redis): Promise<App> {
  const clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
  const catalog = createCatalog({
    redis,
    clickhouse,
    instanceKey: Buffer.alloc(32, 7),
    now: Date.now,
    logger,
    baseUrl: 'http://api.test',
  });
  const passwords = { unlock: () => expect.fail('no link has a password') };
  const admission = createAdmission({ catalog, passwords, defaultDomain: undefined, now: Date.now });
  const made = buildLinkApp(
    { logger, docBase: 'http://x', trustedProxies: ['127.0.0.1'] },
    { ...ingest.deps, catalog, admission },
  );
  closers.push(async () => {
    await made.close();
    await catalog.close();
    await clickhouse.close();
    redis.disconnect();
  });
  return made;
}

beforeAll(async () => {
  ingest = await startIngest();
  app = await processWith(new Redis(ingest.redis.url));
});
afterAll(async () => {
  for (const close of closers) await close();
  await ingest.stop();
});

let domains = 0;
/** A link on a domain with a URL for each case. Redis has the link, and not the domain and the workspace. */
async function aLink(fields: Partial<NewLink>, ofDomain: object = {}) {
  domains += 1;
  const { catalog, redisClient, workspaceId } = ingest;
  const slug = `cold${domains}.test`;
  const urls = { notFoundUrl: 'https://acme.com/404', expiredUrl: 'https://acme.com/expired', assetLinks: '[]' };
  await catalog.domains.create(workspaceId, { slug, ...urls, ...ofDomain });
  await catalog.links.create(workspaceId, { domain: slug, key: 'cold', url: 'https://acme.com/', ...fields });
  await ingest.visit('/cold', { host: slug });
  const keys = await redisClient.keys('waymark:cache:*');
  const others = keys.filter((key) => /:(?:domains|workspaces):|:name:(?:domain|workspace)/.test(key));
  expect(others.length).toBeGreaterThan(1);
  await redisClient.del(others);
  return slug;
}

async function visit(host: string, path: string, at = app) {
  const answer = await at.inject({ url: path, headers: { host, 'user-agent': BROWSER } });
  const { location, 'retry-after': retryAfter } = answer.headers;
  return { status: answer.statusCode, location, retryAfter };
}

const UNAVAILABLE = { status: 503, location: undefined, retryAfter: '1' };

describe('while ClickHouse is away, and neither Redis nor the process has a copy', () => {
  it.each([
    ['of the address of a link', '/nothing', {}],
    ['of the domain whose URL a visit of an expired link needs', '/cold', { expiresAt: PAST }],
    ['of the domain whose URL a visit of a disabled link needs', '/cold', { disabledAt: PAST }],
    ['of the domain whose file is requested', '/.well-known/assetlinks.json', {}],
  ])('%s, the answer is 503 with Retry-After', async (_what, path, fields) => {
    expect(await visit(await aLink(fields), path)).toEqual(UNAVAILABLE);
  });

  it.each([
    ['', {}],
    [', even if the domain is archived', { archived: true }],
  ])('of the domain and the workspace of a link, it redirects%s', async (_what, ofDomain) => {
    const host = await aLink({}, ofDomain);
    expect(await visit(host, '/cold')).toMatchObject({ status: 302, location: 'https://acme.com/' });
  });

  it('of the domain, an expired link redirects to its own URL for that', async () => {
    const expiredUrl = 'https://acme.com/over';
    const host = await aLink({ expiresAt: PAST, expiredUrl });
    expect(await visit(host, '/cold')).toMatchObject({ status: 302, location: expiredUrl });
  });

  it('of the workspace, visitors who ask not to be tracked get no id and no cookie, as with `no-id`', async () => {
    const host = await aLink({ trackConversion: true });
    const idsOf = async (headers: Record<string, string>) => {
      const answer = await app.inject({ url: '/cold', headers: { host, 'user-agent': BROWSER, ...headers } });
      const { location, 'set-cookie': cookie } = answer.headers;
      const { origin, searchParams } = new URL(String(location));
      return { to: origin, hasId: searchParams.has('dub_id'), hasCookie: cookie !== undefined };
    };
    const to = 'https://acme.com';
    for (const signal of ['sec-gpc', 'dnt']) {
      expect(await idsOf({ [signal]: '1' })).toEqual({ to, hasId: false, hasCookie: false });
    }
    expect(await idsOf({})).toEqual({ to, hasId: true, hasCookie: true });
  });
});

it('files that search engines and browsers request of every site are 404 while no store answers, links 503', async () => {
  const redis = new Redis('redis://127.0.0.1:9', { enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  const cut = await processWith(redis);
  for (const file of ['robots.txt', 'favicon.ico', 'sitemap.xml', 'manifest.json', 'apple-app-site-association']) {
    expect([file, (await visit('cold.test', `/${file}`, cut)).status]).toEqual([file, 404]);
  }
  expect(await visit('cold.test', '/cold', cut)).toEqual(UNAVAILABLE);
});
