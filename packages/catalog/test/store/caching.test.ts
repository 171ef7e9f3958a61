import { randomUUID } from 'node:crypto';
import { parseResourceId } from '@waymark/contract';
import { aClick, insertClicks, startStores, startTcpProxy, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { numberOf } from '../../src/model/entity-type.js';
import { linkAddress } from '../../src/model/entity-types.js';
import { createCacheMemory } from '../../src/redis/cache-memory.js';
import { openConnections, type RedisConnections } from '../../src/redis/connections.js';
import { createRedisCache } from '../../src/redis/record-cache.js';
import { aWorkspace, connected, wipeCaches } from '../test-catalog.js';
import { startGate } from './store-gate.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  connections = openConnections(stores.client, 0, { warn: () => undefined });
  await waitFor(async () => (await connections.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await connections.close();
  await stores.close();
});

/** An instance whose cached copies never expire, so that only invalidations evict them. */
function aTimelessCatalog(redis?: Redis): Catalog {
  const startedMs = Date.now();
  return stores.catalog({ now: () => startedMs, ...(redis && { redis }) });
}

/** Resolves with the catalog once it may serve its cached copies. */
async function subscribed(instance: Catalog): Promise<Catalog> {
  await connected(instance, stores.client);
  await waitFor(instance.isSubscribed, { what: 'the right to use copies' });
  return instance;
}

async function aLink(key: string) {
  const { workspace, host } = await aWorkspace(catalog);
  const link = await catalog.links.create(workspace.id, { domain: host, key, url: 'https://one.com' });
  return { workspace, host, link };
}

let connections: RedisConnections;
const redisCache = () => createRedisCache(connections, createCacheMemory(connections));

/** The number of queries that `work` sends to ClickHouse. */
async function queriesOf(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(stores.database.client, 'rows');
  await work();
  const count = query.mock.calls.length;
  query.mockRestore();
  return count;
}

describe('a change', () => {
  it('is visible although its invalidation was lost, because a process that receives changes again evicts all copies', async () => {
    const gate = await startGate(stores.redis.url);
    const redis = new Redis(gate.url);
    redis.on('error', () => undefined);
    const other = await subscribed(aTimelessCatalog(redis));
    const { workspace, host, link } = await aLink('missed');
    const read = async () => ({
      url: (await other.links.findByAddress(host, 'missed'))?.url,
      later: (await other.links.findByAddress(host, 'later'))?.key,
      webhooks: (await other.webhooks.active(workspace.id)).map(({ name }) => name),
      clicks: (await other.links.cachedCounters(workspace.id, [link.id])).get(link.id)?.clicks ?? 0,
    });
    const before = { url: 'https://one.com', later: undefined, webhooks: [], clicks: 0 };
    expect(await read()).toEqual(before);
    expect(await queriesOf(async () => expect(await read()).toEqual(before))).toBe(0);

    gate.set('refusing');
    await waitFor(() => !other.isSubscribed(), { what: 'the end of the right to use copies' });
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));
    await catalog.links.create(workspace.id, { domain: host, key: 'later', url: 'https://one.com' });
    const hook = { name: 'Hook', url: 'https://hooks.example/', triggers: ['lead.created' as const] };
    await catalog.webhooks.create(workspace.id, hook);
    const numbers = [numberOf('workspace', workspace.id), numberOf('link', link.id)] as const;
    await insertClicks(stores.database.client, [aClick({ workspaceId: numbers[0], linkId: numbers[1] })]);
    gate.set('open');
    // No read before that: it would replace the copies.
    await waitFor(other.isSubscribed, { what: 'the right to use copies' });
    expect(await read()).toEqual({ url: 'https://two.com', later: 'later', webhooks: ['Hook'], clicks: 1 });
    await other.close();
    redis.disconnect();
    await gate.close();
  });

  it('is visible at once in the process that made it', async () => {
    const { workspace, host, link } = await aLink('mine');
    for (let round = 0; round < 10; round++) {
      const url = `https://${round}.com/`;
      await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url }));
      expect((await catalog.links.findByAddress(host, 'mine'))?.url).toBe(url);
    }
  });

  it('is visible also in a process that was suspended after an earlier one until its lock had expired', async () => {
    const { workspace, link } = await aLink('suspended');
    let suspendedMs = 0;
    const database = stores.databaseAt(stores.database.url);
    const slow = await subscribed(stores.catalog({ database, now: () => Date.now() + suspendedMs }));
    const setUrl = (instance: Catalog, url: string) =>
      instance.links.update(workspace.id, link.id, (record) => ({ ...record, url }));
    const insert = database.client.insert.bind(database.client);
    vi.spyOn(database.client, 'insert').mockImplementationOnce(async (...args) => {
      const inserted = await insert(...args);
      await stores.client.del(`waymark:lock:record/links/${link.id}`);
      await setUrl(catalog, 'https://three.com/');
      suspendedMs = 31_000;
      return inserted;
    });
    await setUrl(slow, 'https://two.com/');
    expect((await slow.links.get(workspace.id, link.id))?.url).toBe('https://three.com/');
    await slow.close();
    await database.client.close();
  });
});

/** Gives Redis so many times the memory that it uses. */
async function limitMemory(times: number): Promise<void> {
  const used = Number(/used_memory:(\d+)/.exec(await stores.client.info('memory'))?.[1]);
  await stores.client.config('SET', 'maxmemory', String(Math.floor(used * times)));
}

describe('Redis entries', () => {
  const WS = 'ws_00000000009';
  const data = (version: number) => ({ id: 'link_1', version, data: JSON.stringify({ version }) });
  const read = async () => (await redisCache().readRecords('links', WS, ['link_1']))?.[0];

  it('an older version never replaces a newer one', async () => {
    await redisCache().fillRecords('links', WS, [data(3)]);
    await redisCache().fillRecords('links', WS, [data(2)]);
    expect(await read()).toEqual({ version: 3, isWritten: true, data: '{"version":3}' });
    await redisCache().putRecords('links', WS, [data(4)]);
    expect(await read()).toEqual({ version: 4, isWritten: true, data: '{"version":4}' });
  });

  it('a write marker sends readers to ClickHouse, and is replaced by its own version or a newer one only', async () => {
    await redisCache().markRecords('links', WS, [{ id: 'link_1', version: 5 }]);
    expect(await read()).toEqual({ version: 5, isWritten: false, data: undefined });
    await redisCache().fillRecords('links', WS, [data(4)]);
    expect(await read()).toEqual({ version: 5, isWritten: false, data: undefined });
    await redisCache().fillRecords('links', WS, [data(5)]);
    expect((await read())?.data).toBe('{"version":5}');
    await redisCache().markRecords('links', WS, [{ id: 'link_1', version: 5 }]);
    expect((await read())?.data).toBe('{"version":5}');
  });

  it('have only the version of a large record, which older versions and its own write marker do not replace', async () => {
    const large = (version: number) => ({ id: 'link_1', version, data: JSON.stringify('x'.repeat(8000)) });
    const versionOnly = (version: number) => ({ version, isWritten: true, data: undefined });
    await redisCache().putRecords('links', WS, [large(6)]);
    expect(await read()).toEqual(versionOnly(6));
    expect(await stores.client.strlen(`waymark:cache:{${WS}}:links:link_1`)).toBeLessThan(20);
    await redisCache().fillRecords('links', WS, [data(5)]);
    await redisCache().markRecords('links', WS, [{ id: 'link_1', version: 6 }]);
    expect(await read()).toEqual(versionOnly(6));
    await redisCache().fillRecords('links', WS, [large(7)]);
    expect(await read()).toEqual(versionOnly(7));
    await redisCache().markRecords('links', WS, [{ id: 'link_1', version: 8 }]);
    expect(await read()).toEqual({ version: 8, isWritten: false, data: undefined });
  });

  it('a slow reader of a name does not overwrite what a writer has stored since', async () => {
    const name = linkAddress('slow.example', 'x');
    const owner = { workspaceId: WS, id: 'link_1' };
    const seen = await redisCache().readName(name);
    await redisCache().putName(name, owner);
    await redisCache().fillName(name, seen?.seen ?? '', undefined);
    expect((await redisCache().readName(name))?.owner).toEqual(owner);
    // A rename and its undo: a look-up that began before may have found nothing between the two.
    const before = await redisCache().readName(name);
    await redisCache().dropName(name);
    await redisCache().putName(name, owner);
    await redisCache().fillName(name, before?.seen ?? '', undefined);
    expect((await redisCache().readName(name))?.owner).toEqual(owner);
  });

  it('all expire, those of names without an owner within seconds', async () => {
    const { host } = await aLink('expiring');
    const other = await connected(stores.catalog(), stores.client);
    await other.links.findByAddress(host, 'expiring');
    await other.links.findByAddress(host, 'nobody');
    const nobody = `waymark:cache:name:link/${host}/nobody`;
    await waitFor(() => stores.client.exists(nobody), { what: 'the unknown name to be cached' });
    expect(await stores.client.pttl(nobody)).toBeLessThanOrEqual(5000);
    const keys = await stores.client.keys('waymark:cache:*');
    const ttls = await Promise.all(keys.map((key) => stores.client.pttl(key)));
    expect(Math.min(...ttls)).toBeGreaterThan(0);
  });

  it('last a day while at most 30 % of the memory of Redis is used, else ten minutes', async () => {
    const cache = redisCache();
    const key = `waymark:cache:{${WS}}:links:link_1`;
    const ttlAfterFilling = async (version: number) => {
      await cache.fillRecords('links', WS, [data(version)]);
      return stores.client.pttl(key);
    };
    await waitFor(async () => (await ttlAfterFilling(10)) > 86_000_000, { what: 'the long TTL without a limit' });
    try {
      // The memory is read at most once a second.
      await limitMemory(3);
      await waitFor(async () => (await ttlAfterFilling(11)) <= 600_000, { what: 'the short TTL' });
      await limitMemory(4);
      await waitFor(async () => (await ttlAfterFilling(12)) > 86_000_000, { what: 'the long TTL' });
    } finally {
      await stores.client.config('SET', 'maxmemory', '0');
    }
  });

  it('are not added while more than 60 % of the memory of Redis is used', async () => {
    const { workspace, host, link } = await aLink('tight');
    const instance = await connected(stores.catalog(), stores.client);
    const isAdded = async () => {
      const name = randomUUID();
      await instance.links.findByAddress(host, name);
      await stores.client.ping();
      return (await stores.client.exists(`waymark:cache:name:link/${host}/${name}`)) === 1;
    };
    try {
      // The instance checks the memory at most once a second.
      await limitMemory(1.5);
      await waitFor(async () => !(await isAdded()), { what: 'the cache to be left alone' });
      await limitMemory(1.8);
      await waitFor(isAdded, { what: 'the cache to be used' });
      await limitMemory(1.5);
      await waitFor(async () => !(await isAdded()), { what: 'the cache to be left alone' });
      await wipeCaches(stores.client);
      expect((await instance.links.getMany(workspace.id, [link.id])).size).toBe(1);
      expect(await wipeCaches(stores.client)).toBe(0);
    } finally {
      await stores.client.config('SET', 'maxmemory', '0');
    }
  });
});

describe('reading', () => {
  it('a record whose version in Redis is unchanged gives the same object, without parsing it again', async () => {
    let nowMs = Date.now();
    const { workspace, link } = await aLink('unchanged');
    const other = await subscribed(stores.catalog({ now: () => nowMs }));
    const first = await other.links.get(workspace.id, link.id);
    nowMs += 2000;
    expect(await other.links.get(workspace.id, link.id)).toBe(first);
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com/' }));
    expect((await other.links.get(workspace.id, link.id))?.url).toBe('https://two.com/');
    nowMs += 2000;
    expect((await other.links.get(workspace.id, link.id))?.url).toBe('https://two.com/');
  });

  it('a large record, of which Redis has the version only, queries ClickHouse again only when it has changed', async () => {
    let nowMs = Date.now();
    const { workspace, host } = await aWorkspace(catalog);
    const create = { domain: host, key: 'large', url: 'https://one.com', description: 'x'.repeat(8000) };
    const link = await catalog.links.create(workspace.id, create);
    const other = await subscribed(stores.catalog({ now: () => nowMs }));
    const read = () => other.links.get(workspace.id, link.id);
    expect(await queriesOf(read)).toBe(1);
    nowMs += 2000;
    expect(await queriesOf(read)).toBe(0);
    await catalog.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com/' }));
    expect((await read())?.url).toBe('https://two.com/');
  });

  it('a link for the second time sends no query to a store', async () => {
    const { host } = await aLink('hot');
    const other = await subscribed(aTimelessCatalog());
    await other.links.findByAddress(host, 'hot');
    expect(await queriesOf(() => other.links.findByAddress(host, 'hot'))).toBe(0);
  });

  it('a link that Redis has sends no query to ClickHouse', async () => {
    const { host } = await aLink('warm');
    const other = await connected(stores.catalog(), stores.client);
    expect(await queriesOf(() => other.links.findByAddress(host, 'warm'))).toBe(0);
  });

  it('an uncached link by many concurrent callers shares one look-up', async () => {
    const { host } = await aLink('cold');
    await wipeCaches(stores.client);
    const other = stores.catalog();
    const count = await queriesOf(() =>
      Promise.all(Array.from({ length: 200 }, () => other.links.findByAddress(host, 'cold'))),
    );
    expect(count).toBe(2);
  });

  it('an unknown address for the second time sends no query to ClickHouse', async () => {
    const { host } = await aWorkspace(catalog);
    const other = await subscribed(aTimelessCatalog());
    expect(await queriesOf(() => other.links.findByAddress(host, 'nope'))).toBe(1);
    expect(await queriesOf(() => other.links.findByAddress(host, 'nope'))).toBe(0);
  });

  it('a link slowly does not add it to Redis, where the mark of a change made meanwhile may have expired', async () => {
    const { workspace, host, link } = await aLink('slow');
    const next = await catalog.links.create(workspace.id, { domain: host, key: 'next', url: 'https://one.com' });
    const proxy = await startTcpProxy(Number(new URL(stores.database.url).port));
    const url = new URL(stores.database.url);
    url.port = String(proxy.port);
    let offsetMs = 0;
    const database = stores.databaseAt(url.href);
    const slow = await connected(stores.catalog({ database, now: () => Date.now() + offsetMs }), stores.client);
    const inRedis = (id: string) => stores.client.exists(`waymark:cache:{${workspace.id}}:links:${id}`);
    await wipeCaches(stores.client);
    const before = proxy.requestBytes();
    proxy.holdAnswers();
    const reading = slow.links.findByAddress(host, 'slow');
    await waitFor(() => proxy.requestBytes() > before, { what: 'the read to reach ClickHouse' });
    offsetMs += 31_000;
    proxy.pass();
    expect((await reading)?.id).toBe(link.id);
    // Redis carries out the additions of a process in their order.
    expect((await slow.links.findByAddress(host, 'next'))?.id).toBe(next.id);
    await waitFor(async () => (await inRedis(next.id)) === 1, { what: 'the next link in Redis' });
    expect(await inRedis(link.id)).toBe(0);
    await slow.close();
    await database.client.close();
    await proxy.stop();
  });

  it('many links at once takes a few queries, and skips links of other workspaces', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const links = await Promise.all(
      Array.from({ length: 30 }, () => catalog.links.create(workspace.id, { domain: host, url: 'https://a.com' })),
    );
    const { link: foreign } = await aLink('foreign');
    const ids = [...links.map((link) => link.id), foreign.id, 'link_zzzzzzzzzzz', 'nonsense'];
    await wipeCaches(stores.client);
    const other = stores.catalog();
    let found = new Map();
    expect(
      await queriesOf(async () => {
        found = await other.links.getMany(workspace.id, ids);
      }),
    ).toBe(1);
    expect(found).toEqual(new Map(links.map((link) => [link.id, link])));
  });
});

describe('reading links of several workspaces at once', () => {
  it('takes one query, and a workspace gets only its own', async () => {
    const [one, other] = [await aLink('first'), await aLink('second')];
    const cold = stores.catalog();
    const get = (owner: typeof one, { link }: typeof one) => cold.links.get(owner.workspace.id, link.id);
    await wipeCaches(stores.client);
    let found: unknown[] = [];
    const count = await queriesOf(async () => {
      found = await Promise.all([get(one, one), get(other, other), get(one, other), get(other, one)]);
    });
    expect(found).toEqual([one.link, other.link, undefined, undefined]);
    expect(count).toBe(1);
  });

  it('finds the others although one of them is damaged', async () => {
    const [damaged, intact] = [await aLink('damaged'), await aLink('intact')];
    await stores.database.client.command({
      query: `INSERT INTO links (workspace_id, id, version, deleted, data)
VALUES (${parseResourceId('workspace', damaged.workspace.id)}, ${parseResourceId('link', damaged.link.id)}, 2, 0, '{}')`,
    });
    const cold = stores.catalog();
    await wipeCaches(stores.client);
    const reads = [damaged, intact].map(({ workspace, link }) => cold.links.get(workspace.id, link.id));
    const [failed, read] = await Promise.allSettled(reads);
    expect(failed?.status).toBe('rejected');
    expect(read).toMatchObject({ status: 'fulfilled', value: intact.link });
  });
});

describe('deleting every cache entry', () => {
  it('loses nothing', async () => {
    const { workspace, host, link } = await aLink('kept');
    const { apiKey } = await aWorkspace(catalog);
    expect(await wipeCaches(stores.client)).toBeGreaterThan(0);
    for (const instance of [catalog, stores.catalog()]) {
      expect(await instance.links.findByAddress(host, 'kept')).toEqual(link);
      expect(await instance.keys.authenticate(apiKey.token)).toBeDefined();
      expect(await instance.domains.findBySlug(host)).toBeDefined();
    }
    await expect(
      stores.catalog().links.create(workspace.id, { domain: host, key: 'kept', url: 'https://b.com' }),
    ).rejects.toMatchObject({ code: 'conflict' });
  });
});
