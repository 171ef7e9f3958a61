import {
  type CatalogAt,
  elapsedMs,
  leastOf,
  startStores,
  startTcpProxy,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Catalog, normaliseKey } from '../../src/index.js';
import { aWorkspace, connected } from '../test-catalog.js';
import { type StoreGate, startGate } from './store-gate.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

interface GatedCatalog {
  readonly gated: Catalog;
  readonly redis: StoreGate;
  readonly clickhouse: StoreGate;
  /** Advances the clock by which this process's copies age. */
  later(ms: number): void;
  close(): Promise<void>;
}

/** A catalog that can lose either store while other catalogs keep it. */
async function aGatedCatalog(
  at: Pick<CatalogAt, 'redirectWaitMs' | 'waitReplicas' | 'now'> = {},
): Promise<GatedCatalog> {
  const [redis, clickhouse] = await Promise.all([startGate(stores.redis.url), startGate(stores.database.url)]);
  const client = new Redis(redis.url);
  client.on('error', () => undefined);
  const database = stores.databaseAt(clickhouse.url);
  let offsetMs = 0;
  const now = at.now ?? (() => Date.now() + offsetMs);
  const gated = stores.catalog({ ...at, redis: client, database, now });
  await connected(gated, stores.client);
  return {
    gated,
    redis,
    clickhouse,
    later: (ms) => {
      offsetMs += ms;
    },
    async close() {
      await gated.close();
      client.disconnect();
      await database.client.close();
      await Promise.all([redis.close(), clickhouse.close()]);
    },
  };
}

async function aLink(key: string) {
  const { workspace, host, apiKey } = await aWorkspace(catalog);
  const link = await catalog.links.create(workspace.id, { domain: host, key, url: 'https://one.com' });
  return { workspace, host, link, apiKey };
}

/** Removes from Redis what it has of the workspace and its domain. */
async function evict({ client }: TestStores, workspaceId: string, host: string): Promise<void> {
  const keys = await Promise.all([workspaceId, host].map((part) => client.keys(`waymark:cache:*${part}*`)));
  // None in a repetition by `leastOf`, if the first attempt has cached nothing.
  if (keys.flat().length > 0) await client.del(...keys.flat());
}

const HOUR_MS = 3_600_000;

// The tests mostly wait, each for connections of its own, so they run at the same time; only a restart of Redis is alone.

it.concurrent('dead connections to Redis are replaced, and invalidations arrive again', {
  timeout: 60_000,
}, async () => {
  const { workspace, host, link } = await aLink('abandoned');
  const proxy = await startTcpProxy(Number(new URL(stores.redis.url).port));
  const client = new Redis(`redis://127.0.0.1:${proxy.port}`);
  const timeless = Date.now();
  const abandoned = await connected(stores.catalog({ redis: client, now: () => timeless }), stores.client);
  const url = async () => (await abandoned.links.findByAddress(host, 'abandoned'))?.url;
  await waitFor(abandoned.isSubscribed, { what: 'the catalog to subscribe' });
  proxy.abandon();
  await waitFor(() => !abandoned.isSubscribed(), { what: 'the end of the subscription' });
  const create = () => abandoned.links.create(workspace.id, { domain: host, key: 'later', url: 'https://a.com' });
  await waitFor(create, { what: 'a create' });
  await waitFor(abandoned.isSubscribed, { what: 'the catalog to subscribe again' });
  expect(await url()).toBe('https://one.com');
  await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));
  await waitFor(async () => (await url()) === 'https://two.com', { what: 'the change' });
  client.disconnect();
  await proxy.stop();
});

describe.concurrent.each(['refusing', 'hanging'] as const)('while Redis is %s', (state) => {
  it('copies that only an invalidation evicts are not served, and are served again once Redis is back', async () => {
    const { workspace, link } = await aLink('copied');
    const startedMs = Date.now();
    const { gated, redis, close } = await aGatedCatalog({ now: () => startedMs });
    const url = async () => (await gated.links.get(workspace.id, link.id))?.url;
    const change = (to: string) => catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: to }));
    try {
      await waitFor(gated.isSubscribed, { what: 'the catalog to subscribe' });
      expect(await url()).toBe('https://one.com');
      redis.set(state);
      await waitFor(() => !gated.isSubscribed(), { what: 'the end of the subscription' });
      await change('https://two.com');
      expect(await url()).toBe('https://two.com');
      // Connections that hang are closed in the end.
      redis.set('refusing');
      redis.set('open');
      await waitFor(gated.isSubscribed, { what: 'the catalog to subscribe again' });
      expect(await url()).toBe('https://two.com');
      await change('https://three.com');
      expect(await url()).toBe('https://three.com');
    } finally {
      await close();
    }
  });

  it('links, domains and keys are read from ClickHouse without much delay', async () => {
    const { host, link, apiKey } = await aLink('away');
    const takenMs = async () => {
      const { gated, redis, close } = await aGatedCatalog();
      redis.set(state);
      const ms = await elapsedMs(async () => {
        expect(await gated.links.findByAddress(host, 'away')).toEqual(link);
        expect(await gated.domains.findBySlug(host)).toBeDefined();
        expect((await gated.keys.authenticate(apiKey.token))?.workspace?.id).toBe(link.workspaceId);
        expect(await gated.links.findByAddress(host, 'unknown')).toBeUndefined();
      });
      await close();
      return ms;
    };
    expect(await leastOf(5000, takenMs, 3)).toBeLessThanOrEqual(5000);
  });

  it('writes answer 500 with Retry-After, store nothing, and work again afterwards', async () => {
    const { workspace, host } = await aLink('w');
    const { gated, redis, close } = await aGatedCatalog();
    redis.set(state);
    const create = () => gated.links.create(workspace.id, { domain: host, key: 'later', url: 'https://a.com' });
    await expect(create()).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 1 });
    expect(await catalog.links.findByAddress(host, 'later')).toBeUndefined();
    // Hanging connections end only when they are closed.
    redis.set('refusing');
    redis.set('open');
    await waitFor(create, { what: 'a create' });
    await close();
  });
});

describe.concurrent.each(['refusing', 'hanging'] as const)('while ClickHouse is %s', (state) => {
  it('links that Redis has are served', async () => {
    const { host, link } = await aLink('held');
    const { gated, clickhouse, close } = await aGatedCatalog();
    clickhouse.set(state);
    expect(await gated.links.findByAddress(host, 'held')).toEqual(link);
    await close();
  });

  it('and a replica of Redis is missing, redirects are served what Redis has, and keys are not', async () => {
    const { workspace, host, link, apiKey } = await aLink('unconfirmed');
    const { gated, clickhouse, close } = await aGatedCatalog({ redirectWaitMs: 1000, waitReplicas: 1 });
    const update = gated.links.update(workspace.id, link.id, (record) => record);
    await expect(update).rejects.toMatchObject({ code: 'internal_server_error' });
    clickhouse.set(state);
    expect(await gated.links.findByAddress(host, 'unconfirmed')).toEqual(link);
    expect((await gated.domains.findBySlug(host))?.slug).toBe(host);
    expect((await gated.workspaces.forVisit(workspace.id))?.id).toBe(workspace.id);
    const again = () => gated.links.findByAddress(host, 'unconfirmed');
    expect(await leastOf(500, () => elapsedMs(again))).toBeLessThanOrEqual(500);
    await expect(gated.keys.authenticate(apiKey.token)).rejects.toMatchObject({ code: 'internal_server_error' });
    await close();
  });

  it('a link from before it had all forms of its key as names, which Redis has, is served under each', async () => {
    const { host, link } = await aLink('xn--blog/mnchen-yhb');
    const { gated, clickhouse, close } = await aGatedCatalog({ redirectWaitMs: 1000 });
    await stores.client.del(...(await stores.client.keys(`*name:link/${host}/blog/*`)));
    clickhouse.set(state);
    expect(await gated.links.findByAddress(host, normaliseKey('blog/münchen'))).toEqual(link);
    await expect(gated.links.findByAddress(host, normaliseKey('blog/straße'))).rejects.toMatchObject({
      code: 'internal_server_error',
    });
    await close();
  });

  it('a link that no cache has is an error within about a second', async () => {
    const { workspace, host } = await aLink('lost');
    const takenMs = async () => {
      const { gated, clickhouse, close } = await aGatedCatalog({ redirectWaitMs: 1000 });
      await evict(stores, workspace.id, host);
      clickhouse.set(state);
      const ms = await elapsedMs(() =>
        expect(gated.links.findByAddress(host, 'lost')).rejects.toMatchObject({ code: 'internal_server_error' }),
      );
      await close();
      return ms;
    };
    expect(await leastOf(1800, takenMs)).toBeLessThanOrEqual(1800);
  });

  it('and Redis too, a link that was read before is served from its stale copy', async () => {
    const { workspace, host, link } = await aLink('stale');
    const { gated, redis, clickhouse, later, close } = await aGatedCatalog({ redirectWaitMs: 1000 });
    await gated.links.findByAddress(host, 'stale');
    redis.set('refusing');
    clickhouse.set(state);
    later(HOUR_MS);
    expect(await gated.links.findByAddress(host, 'stale')).toEqual(link);
    const again = () => Promise.all(Array.from({ length: 100 }, () => gated.links.findByAddress(host, 'stale')));
    expect(await leastOf(500, () => elapsedMs(again))).toBeLessThanOrEqual(500);
    expect((await gated.links.getMany(workspace.id, [link.id])).get(link.id)).toEqual(link);
    later(24 * HOUR_MS);
    await expect(gated.links.findByAddress(host, 'stale')).rejects.toMatchObject({ code: 'internal_server_error' });
    await close();
  });
});

describe.concurrent('a ClickHouse that stopped responding', () => {
  it('does not keep links from being served that Redis has, once Redis answers again', async () => {
    const { workspace, host, link } = await aLink('kept');
    const [proxy, clickhouse] = await Promise.all([
      startTcpProxy(Number(new URL(stores.redis.url).port)),
      startGate(stores.database.url),
    ]);
    const client = new Redis(`redis://127.0.0.1:${proxy.port}`);
    const database = stores.databaseAt(clickhouse.url);
    const gated = await connected(stores.catalog({ redis: client, database, redirectWaitMs: 1000 }), stores.client);
    clickhouse.set('hanging');
    proxy.holdAnswers();
    const reads = [gated.links.findByAddress(host, 'kept'), gated.workspaces.forVisit(workspace.id)];
    const isUnavailable = (read: Promise<unknown>) =>
      expect(read).rejects.toMatchObject({ code: 'internal_server_error' });
    await Promise.all(reads.map(isUnavailable));
    // The look-ups that were left to ClickHouse have not ended.
    proxy.pass();
    const found = await waitFor(() => gated.links.findByAddress(host, 'kept'), { what: 'the link', timeoutMs: 4000 });
    expect(found).toEqual(link);
    expect((await gated.workspaces.forVisit(workspace.id))?.id).toBe(workspace.id);
    await gated.close();
    client.disconnect();
    await Promise.all([database.client.close(), proxy.stop(), clickhouse.close()]);
  });

  it('delays reads only briefly once it responds again', async () => {
    const { workspace, host, link } = await aLink('hung');
    const { gated, clickhouse, close } = await aGatedCatalog({ redirectWaitMs: 200 });
    await evict(stores, workspace.id, host);
    clickhouse.set('hanging');
    await expect(gated.links.findByAddress(host, 'hung')).rejects.toMatchObject({ code: 'internal_server_error' });
    // The earlier query never gets a response.
    clickhouse.set('open');
    const found = await waitFor(() => gated.links.findByAddress(host, 'hung'), { what: 'the link', timeoutMs: 9000 });
    expect(found).toEqual(link);
    await close();
  });
});

describe.concurrent('an update whose insert is never answered', () => {
  it('is an error for its caller, visible to all others, and keeps its lock', async () => {
    const { workspace, host, link } = await aLink('unanswered');
    const other = await connected(stores.catalog(), stores.client);
    expect(await other.links.findByAddress(host, 'unanswered')).toEqual(link);
    const { gated, clickhouse, close } = await aGatedCatalog();
    const update = () => gated.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));

    clickhouse.cutAfter((chunk) => chunk.includes('INSERT'));
    await expect(update()).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 30 });
    // Redis has the older version: only the write marker sends readers to the table.
    const late = await connected(stores.catalog(), stores.client);
    await waitFor(async () => (await late.links.get(workspace.id, link.id))?.url === 'https://two.com', {
      what: 'the row that was inserted',
    });
    expect(await stores.client.pttl(`waymark:lock:record/links/${link.id}`)).toBeGreaterThan(10_000);
    await close();
  });
});

describe.concurrent('while both stores refuse', () => {
  it('a key that was used before authenticates for ten minutes more, not longer', async () => {
    const { apiKey, link } = await aLink('credential');
    const { gated, redis, clickhouse, later, close } = await aGatedCatalog();
    await gated.keys.authenticate(apiKey.token);
    redis.set('refusing');
    clickhouse.set('refusing');
    later(9 * 60_000);
    expect((await gated.keys.authenticate(apiKey.token))?.workspace?.id).toBe(link.workspaceId);
    later(2 * 60_000);
    await expect(gated.keys.authenticate(apiKey.token)).rejects.toMatchObject({ code: 'internal_server_error' });
    await close();
  });

  it('a record that was found to be removed is not served from an earlier copy', async () => {
    const { workspace, link } = await aLink('removed');
    const { gated, redis, clickhouse, close } = await aGatedCatalog();
    expect(await gated.links.get(workspace.id, link.id)).toEqual(link);
    // The process receives no message about the removal.
    redis.set('refusing');
    await waitFor(() => !gated.isSubscribed(), { what: 'the end of the subscription' });
    await catalog.links.removeMany(workspace.id, [link.id]);
    expect(await gated.links.get(workspace.id, link.id)).toBeUndefined();
    clickhouse.set('refusing');
    const isUnavailable = { code: 'internal_server_error' };
    await expect(gated.links.get(workspace.id, link.id)).rejects.toMatchObject(isUnavailable);
    await close();
  });

  it('a copy that is known to be outdated is used only if no store answers', async () => {
    const { workspace, host, link } = await aLink('outdated');
    const { gated, clickhouse, close } = await aGatedCatalog();
    expect(await gated.links.findByAddress(host, 'outdated')).toEqual(link);
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));
    clickhouse.set('refusing');
    await expect(gated.links.findByAddress(host, 'unknown-key')).rejects.toMatchObject({
      code: 'internal_server_error',
    });
    await waitFor(async () => (await gated.links.findByAddress(host, 'outdated'))?.url === 'https://two.com', {
      what: 'the version that Redis has',
      timeoutMs: 900,
    });
    await close();
  });
});

describe('a real restart of Redis', () => {
  it('fails no read, and invalidations arrive again afterwards', async () => {
    const { workspace, host, link } = await aLink('restart');
    const timeless = Date.now();
    const other = await connected(stores.catalog({ now: () => timeless }), stores.client);
    await stores.redis.kill9();
    for (let read = 0; read < 10; read++) {
      expect(await stores.catalog().links.findByAddress(host, 'restart')).toEqual(link);
      expect(await other.links.findByAddress(host, 'restart')).toEqual(link);
    }
    await stores.redis.restart();
    const update = () =>
      catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));
    await waitFor(update, { what: 'an update after the restart' });
    await waitFor(async () => (await other.links.findByAddress(host, 'restart'))?.url === 'https://two.com', {
      what: 'the invalidation at the other instance',
    });
  });
});
