import type { ClickHouseClient } from '@waymark/clickhouse';
import { startStores, startTcpProxy, type TcpProxy, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace, connected, wipeCaches } from '../test-catalog.js';

/*
 * Look-ups for which ClickHouse has read a link already, and whose answer is held back while links change. A change that was answered has
 * reached the reading process, because the writer waits for its acknowledgement.
 */

let stores: TestStores;
let writer: Catalog;
let proxy: TcpProxy;
let database: { readonly client: ClickHouseClient };
let reader: Catalog;

beforeAll(async () => {
  stores = await startStores();
  writer = await connected(stores.catalog(), stores.client);
  proxy = await startTcpProxy(Number(new URL(stores.database.url).port));
  database = stores.databaseAt(Object.assign(new URL(stores.database.url), { port: String(proxy.port) }).href);
  const startedMs = Date.now();
  // Its copies never expire, so that only invalidations evict them.
  reader = await connected(stores.catalog({ database, now: () => startedMs }), stores.client);
  await waitFor(reader.isSubscribed, { what: 'the right to use copies' });
});
afterAll(async () => {
  await reader.close();
  await database.client.close();
  await proxy.stop();
  await stores.close();
});

async function twoLinks() {
  const { workspace, host } = await aWorkspace(writer);
  const create = (key: string) => writer.links.create(workspace.id, { domain: host, key, url: 'https://one.com' });
  const [link, other] = [await create('link'), await create('other')];
  await wipeCaches(stores.client);
  const setUrl = (id: string, url: string) => writer.links.update(workspace.id, id, (record) => ({ ...record, url }));
  return {
    other,
    setUrl,
    link,
    getOther: () => reader.links.get(workspace.id, other.id),
    read: {
      'by id': () => reader.links.get(workspace.id, link.id),
      'by address': () => reader.links.findByAddress(host, 'link'),
    },
  };
}

/** Begins a read, and resolves when its statement that reads the link is sent, whose answer is held back. */
async function held<T>(read: () => Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  const rows = vi.spyOn(database.client, 'rows');
  let sentBytes = proxy.requestBytes();
  const isLinkRead = () => rows.mock.calls.some(([{ query }]) => query.includes('FROM links'));
  proxy.holdAnswers();
  const answer = read();
  await waitFor(
    () => {
      if (isLinkRead()) return proxy.requestBytes() > sentBytes;
      // The answer to the statement before, which reads names.
      proxy.pass();
      sentBytes = proxy.requestBytes();
      proxy.holdAnswers();
      return false;
    },
    { what: 'the read of the link' },
  );
  rows.mockRestore();
  return { answer };
}

const storeReads = () => {
  const { redis = 0, clickhouse = 0 } = reader.lookups().links ?? {};
  return { redis, clickhouse };
};

describe.each(['by id', 'by address'] as const)('a look-up of a link %s', (by) => {
  it('is cached although another link changes meanwhile', async () => {
    const { link, other, setUrl, read } = await twoLinks();
    const { answer } = await held(read[by]);
    await setUrl(other.id, 'https://two.com');
    proxy.pass();
    expect(await answer).toEqual(link);
    await wipeCaches(stores.client);
    const before = storeReads();
    expect(await read[by]()).toEqual(link);
    expect(storeReads()).toEqual(before);
  });

  it('is neither cached nor shared with later reads when the link changes meanwhile', async () => {
    const { link, other, setUrl, getOther, read } = await twoLinks();
    const { answer } = await held(read[by]);
    await setUrl(link.id, 'https://two.com');
    await wipeCaches(stores.client);
    const later = read[by]();
    // Redis answers a process in the order of its commands: after this read, the later one waits for ClickHouse.
    await setUrl(other.id, 'https://two.com');
    expect((await getOther())?.url).toBe('https://two.com');
    proxy.pass();
    expect((await later)?.url).toBe('https://two.com');
    await answer;
    expect((await read[by]())?.url).toBe('https://two.com');
  });
});

it('a look-up that finds no link is neither cached nor shared with later reads when one gets the address meanwhile', async () => {
  const { workspace, host } = await aWorkspace(writer);
  const read = () => reader.links.findByAddress(host, 'new');
  const sentBytes = proxy.requestBytes();
  proxy.holdAnswers();
  const answer = read();
  await waitFor(() => proxy.requestBytes() > sentBytes, { what: 'the read of the name' });
  const link = await writer.links.create(workspace.id, { domain: host, key: 'new', url: 'https://one.com' });
  proxy.pass();
  await answer;
  expect((await read())?.id).toBe(link.id);
});

it('a missed change makes all look-ups under way outdated', async () => {
  const { link, read } = await twoLinks();
  const { answer } = await held(read['by id']);
  await stores.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await waitFor(() => !reader.isSubscribed(), { what: 'the end of the subscription' });
  await waitFor(reader.isSubscribed, { what: 'the new subscription' });
  proxy.pass();
  expect(await answer).toEqual(link);
  await wipeCaches(stores.client);
  const before = storeReads();
  expect(await read['by id']()).toEqual(link);
  expect(storeReads().clickhouse).toBe(before.clickhouse + 1);
});
