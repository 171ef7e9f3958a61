import { setTimeout as delay } from 'node:timers/promises';
import { elapsedMs, leastOf, startStores, startTcpProxy, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, connected } from '../test-catalog.js';
import { startGate } from './store-gate.js';

const HOLDERS = 'waymark:catalog:holders';
const LEASE_MS = 1500;

let stores: TestStores;
let writer: Catalog;
let reader: Catalog;

/** A catalog whose cached copies never expire, so that only invalidations evict them. */
async function aTimelessCatalog(client = stores.client): Promise<Catalog> {
  const startedMs = Date.now();
  const catalog = await connected(stores.catalog({ redis: client, now: () => startedMs }), stores.client);
  await waitFor(catalog.isSubscribed, { what: 'the right to use copies' });
  return catalog;
}

beforeAll(async () => {
  stores = await startStores();
  writer = await connected(stores.catalog(), stores.client);
  reader = await aTimelessCatalog();
});
afterAll(() => stores.close());

async function aLink(key: string) {
  const { workspace, host, apiKey } = await aWorkspace(writer);
  const link = await writer.links.create(workspace.id, { domain: host, key, url: 'https://one.com' });
  return { workspace, host, link, apiKey };
}

/** Reads in a loop until stopped, so that some read is always in progress, including reads that began before a write. */
function reading(read: () => Promise<unknown>) {
  let isOver = false;
  const loop = async () => {
    while (!isOver) {
      await read();
      // Long enough for other work to run, short enough that some read is always in progress.
      await delay(1);
    }
  };
  const loops = Promise.all([loop(), loop(), loop()]);
  return async () => {
    isOver = true;
    await loops;
  };
}

describe('after a write was answered, another process returns the new state', () => {
  it('of a link that changes while it is read continuously', async () => {
    const { workspace, host, link } = await aLink('busy');
    const url = async () => (await reader.links.findByAddress(host, 'busy'))?.url;
    const end = reading(url);
    try {
      for (let round = 0; round < 20; round++) {
        await writer.links.update(workspace.id, link.id, (record) => ({ ...record, url: `https://${round}.com` }));
        expect(await url()).toBe(`https://${round}.com`);
        expect((await reader.links.get(workspace.id, link.id))?.url).toBe(`https://${round}.com`);
      }
    } finally {
      await end();
    }
  });

  it('of addresses that are looked up continuously before they exist and after they are removed', async () => {
    const { workspace, host } = await aWorkspace(writer);
    for (let round = 0; round < 5; round++) {
      const find = () => reader.links.findByAddress(host, `soon-${round}`);
      const end = reading(find);
      try {
        const link = await writer.links.create(workspace.id, {
          ...{ domain: host, key: `soon-${round}`, url: 'https://a.com' },
        });
        expect((await find())?.id).toBe(link.id);
        await writer.links.update(workspace.id, link.id, (record) => ({ ...record, key: `moved-${round}` }));
        expect(await find()).toBeUndefined();
        expect((await reader.links.findByAddress(host, `moved-${round}`))?.id).toBe(link.id);
        await writer.links.removeMany(workspace.id, [link.id]);
        expect(await reader.links.findByAddress(host, `moved-${round}`)).toBeUndefined();
        expect(await reader.links.get(workspace.id, link.id)).toBeUndefined();
      } finally {
        await end();
      }
    }
  });

  it('of keys: a revoked key is refused', async () => {
    const { workspace } = await aWorkspace(writer);
    for (let round = 0; round < 5; round++) {
      const input = { workspaceId: workspace.id, name: 'Key', kind: 'secret', role: 'owner', scopes: [] } as const;
      const { record, token } = await writer.keys.create(input);
      expect((await reader.keys.authenticate(token))?.key.id).toBe(record.id);
      const end = reading(() => reader.keys.authenticate(token));
      await writer.keys.revoke(workspace.id, record.id);
      expect(await reader.keys.authenticate(token)).toBeUndefined();
      await end();
    }
  });

  it('of webhooks: a new one receives the next event, and a removed one does not', async () => {
    const { workspace } = await aWorkspace(writer);
    const active = async () => (await reader.webhooks.active(workspace.id)).map(({ id }) => id);
    const end = reading(active);
    try {
      for (let round = 0; round < 5; round++) {
        const url = `https://hook-${round}.example/`;
        const hook = await writer.webhooks.create(workspace.id, { name: 'Hook', url, triggers: ['lead.created'] });
        expect(await active()).toEqual([hook.id]);
        await writer.webhooks.remove(workspace.id, hook.id);
        expect(await active()).toEqual([]);
      }
    } finally {
      await end();
    }
  });

  it('of workspaces and of domains', async () => {
    const { workspace, host } = await aWorkspace(writer);
    expect((await reader.workspaces.get(workspace.id))?.name).toBe('Acme');
    await writer.workspaces.update(workspace.id, { name: 'New' });
    expect((await reader.workspaces.get(workspace.id))?.name).toBe('New');
    const other = `other.${host}`;
    expect(await reader.domains.findBySlug(other)).toBeUndefined();
    const domain = await writer.domains.create(workspace.id, { slug: other });
    expect((await reader.domains.findBySlug(other))?.id).toBe(domain.id);
    await writer.domains.update(workspace.id, domain.id, { archived: true });
    expect((await reader.domains.findBySlug(other))?.archived).toBe(true);
    await writer.domains.makePrimary(workspace.id, domain.id);
    expect((await reader.domains.primary(workspace.id))?.slug).toBe(host);
    await writer.domains.update(workspace.id, domain.id, { archived: false });
    expect((await reader.domains.primary(workspace.id))?.id).toBe(domain.id);
    await writer.domains.remove(workspace.id, domain.id);
    expect(await reader.domains.findBySlug(other)).toBeUndefined();
    expect((await reader.domains.primary(workspace.id))?.slug).toBe(host);
  });
});

describe('a process that receives no invalidations', () => {
  it.each(['its subscription was killed', 'its connections are dead without having ended'] as const)(
    'because %s does not answer from copies, and holds a write up for less than two seconds',
    async (why) => {
      const writeMs = async () => {
        const { workspace, host, link } = await aLink('unsubscribed');
        const proxy = await startTcpProxy(Number(new URL(stores.redis.url).port));
        const client = new Redis(`redis://127.0.0.1:${proxy.port}`);
        client.on('error', () => undefined);
        const unsubscribed = await aTimelessCatalog(client);
        const url = async () => (await unsubscribed.links.findByAddress(host, 'unsubscribed'))?.url;
        try {
          expect(await url()).toBe('https://one.com');
          expect(await url()).toBe('https://one.com');
          if (why === 'its subscription was killed') await stores.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
          else proxy.abandon();
          const ms = await elapsedMs(() =>
            writer.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' })),
          );
          expect((await unsubscribed.links.get(workspace.id, link.id))?.url).toBe('https://two.com');
          return ms;
        } finally {
          client.disconnect();
          await unsubscribed.close();
          await proxy.stop();
        }
      };
      expect(await leastOf(2000, writeMs)).toBeLessThanOrEqual(2000);
    },
  );

  it('does not delay writes after its lease has expired, nor after it was closed', async () => {
    const { workspace, link } = await aLink('gone');
    const holders = () => stores.client.zrange(HOLDERS, '0', '-1');
    const before = await holders();
    const closed = await aTimelessCatalog();
    const added = (await holders()).filter((holder) => !before.includes(holder));
    expect(added).toHaveLength(1);
    await closed.close();
    expect(await holders()).not.toContain(added[0]);

    const change = () =>
      writer.links.update(workspace.id, link.id, (record) => ({ ...record, title: `${Date.now()}` }));
    const storeMs = async () => {
      const [seconds = 0, microseconds = 0] = (await stores.client.time()).map(Number);
      return seconds * 1000 + microseconds / 1000;
    };
    const untilMs = Math.ceil((await storeMs()) + LEASE_MS);
    await stores.client.call('ZADD', HOLDERS, String(untilMs), 'killed');
    await change();
    expect(await storeMs()).toBeGreaterThanOrEqual(untilMs);
    expect(await leastOf(LEASE_MS / 2, () => elapsedMs(change))).toBeLessThanOrEqual(LEASE_MS / 2);
  });

  it('while Redis is unavailable, serves redirects from copies of the last second, and all other reads from ClickHouse', async () => {
    const { workspace, host, link } = await aLink('away');
    const gate = await startGate(stores.redis.url);
    const client = new Redis(gate.url);
    client.on('error', () => undefined);
    const cut = await aTimelessCatalog(client);
    try {
      await cut.links.findByAddress(host, 'away');
      gate.set('refusing');
      await waitFor(() => !cut.isSubscribed(), { what: 'the end of the subscription' });
      await writer.links.update(workspace.id, link.id, (record) => ({ ...record, url: 'https://two.com' }));
      expect((await cut.links.findByAddress(host, 'away'))?.url).toBe('https://one.com');
      expect((await cut.links.get(workspace.id, link.id))?.url).toBe('https://two.com');
    } finally {
      client.disconnect();
      await cut.close();
      await gate.close();
    }
  });
});

// Both mostly wait, each for connections of its own.
describe.concurrent.each<{
  readonly what: string;
  /** @param during called before the write */
  readonly write: (catalog: Catalog, workspaceId: string, id: string, during: () => void) => Promise<unknown>;
  /** @param catalog that of another process */
  readonly repeat: (catalog: Catalog, workspaceId: string, id: string) => Promise<unknown>;
  readonly expected: string | undefined;
}>([
  {
    what: 'a change',
    write: ({ links }, workspaceId, id, during) =>
      links.update(workspaceId, id, (record) => {
        during();
        return { ...record, url: 'https://two.com' };
      }),
    repeat: ({ links }, workspaceId, id) => links.update(workspaceId, id, (record) => record),
    expected: 'https://two.com',
  },
  {
    what: 'a removal',
    write: ({ links }, workspaceId, id, during) =>
      links.removeMany(workspaceId, [id], () => {
        during();
        return true;
      }),
    repeat: ({ links }, workspaceId, id) => links.removeMany(workspaceId, [id]),
    expected: undefined,
  },
])('$what that was stored and could not be published', ({ write, repeat, expected }) => {
  it('is an error, and its repeat, which changes nothing, is published', { timeout: 30_000 }, async () => {
    const { workspace, host, link } = await aLink('unpublished');
    const gate = await startGate(stores.redis.url);
    const client = new Redis(gate.url);
    client.on('error', () => undefined);
    const cut = await connected(stores.catalog({ redis: client }), stores.client);
    const read = async () => (await reader.links.findByAddress(host, 'unpublished'))?.url;
    try {
      expect(await read()).toBe('https://one.com');
      const beforeMs = Date.now();
      const written = write(cut, workspace.id, link.id, () => {
        gate.cutAfter((chunk) => {
          if (chunk.includes('PUBLISH')) gate.set('refusing');
          return false;
        });
      });
      // A process without reads for five seconds gives up its lease.
      const end = reading(read);
      await expect(written).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 1 }).finally(end);
      expect(await read()).toBe('https://one.com');
      // Not quite two minutes after the write.
      await repeat(stores.catalog({ now: () => beforeMs + 119_999 }), workspace.id, link.id);
      expect(await read()).toBe(expected);
    } finally {
      client.disconnect();
      await cut.close();
      await gate.close();
    }
  });
});
