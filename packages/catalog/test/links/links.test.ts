import { insertRows } from '@waymark/clickhouse';
import { linkSchema } from '@waymark/contract';
import { NAMES_TABLE } from '@waymark/event-format';
import {
  aClick,
  aLead,
  aSale,
  insertClicks,
  insertLeads,
  insertSales,
  startStores,
  type TestStores,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_READ, type Catalog, NO_LINK_COUNTERS, normaliseKey, storedKey } from '../../src/index.js';
import { nameRow, numberOf } from '../../src/model/entity-type.js';
import { linkAddresses } from '../../src/model/entity-types.js';
import { createCounters } from '../../src/totals/counters.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;
const CLEAR = { hidesPasswords: false };

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

describe('the look-up of an address', () => {
  it('with a slash in the host, which any caller may send, hides no link with a slash in its key', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = await catalog.links.create(workspace.id, { domain: host, key: 'a/b', url: 'https://a.com' });
    const others = stores.catalog();
    for (const process of [catalog, others]) {
      expect(await process.links.findByAddress(host, 'a/b')).toEqual(link);
      expect(await process.links.findByAddress(`${host}/a`, 'b')).toBeUndefined();
      expect(await process.links.findByAddress(host, 'a/b')).toEqual(link);
    }
  });
});

describe('a key outside ASCII with a slash', () => {
  const AT_DUB = 'xn--blog/mnchen-yhb';
  const find = (host: string, key: string, process = catalog) =>
    process.links.findByAddress(host, normaliseKey(key), API_READ);

  it.each([
    ['as dub encodes it', AT_DUB],
    ['as it is typed', 'Blog/München'],
  ])('%s is found in both encodings, and is taken in both', async (_what, key) => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = await catalog.links.create(workspace.id, { domain: host, key, url: 'https://a.com' });
    for (const process of [catalog, stores.catalog()]) {
      expect(await find(host, 'blog/münchen', process)).toEqual(link);
      expect(await find(host, AT_DUB, process)).toEqual(link);
    }
    for (const other of [AT_DUB, 'blog/münchen']) {
      const input = { domain: host, key: other, url: 'https://b.com', externalId: null };
      await expect(catalog.links.create(workspace.id, input)).rejects.toMatchObject({ code: 'conflict' });
      await expect(catalog.links.assertFree(workspace.id, input)).rejects.toMatchObject({ code: 'conflict' });
      expect(await catalog.links.createMany(workspace.id, [input])).toMatchObject([{ code: 'conflict' }]);
    }
    await catalog.links.removeMany(workspace.id, [link.id]);
    expect(await find(host, 'blog/münchen')).toBeUndefined();
    await catalog.links.create(workspace.id, { domain: host, key: 'blog/münchen', url: 'https://b.com' });
  });

  it('keeps both when the link gets the other encoding', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const { id } = await catalog.links.create(workspace.id, { domain: host, key: AT_DUB, url: 'https://a.com' });
    await catalog.links.update(workspace.id, id, (record) => ({ ...record, key: storedKey('blog/münchen') }));
    expect((await find(host, 'blog/münchen'))?.id).toBe(id);
    expect((await find(host, AT_DUB))?.id).toBe(id);
  });

  it('is found as typed also if it was stored before it had both as names', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = await catalog.links.create(workspace.id, { domain: host, key: AT_DUB, url: 'https://a.com' });
    const owner = { id: numberOf('link', link.id), workspaceId: numberOf('workspace', workspace.id) };
    const names = linkAddresses(host, AT_DUB).filter(({ name }) => name !== AT_DUB);
    expect(names.map(({ name }) => name)).toContain(normaliseKey('blog/münchen'));
    const rows = names.map((name) => nameRow(name, owner, 2, true));
    await insertRows(stores.database.client, { ...NAMES_TABLE, rows });
    await stores.client.del(...(await stores.client.keys(`*name:link/${host}/*`)));
    expect(await find(host, 'blog/münchen', stores.catalog())).toEqual(link);
  });

  it('with full stops of another script is found under the key of dub', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = await catalog.links.create(workspace.id, { domain: host, key: '東京.大阪', url: 'https://a.com' });
    expect(await find(host, '東京。大阪')).toEqual(link);
  });
});

describe('the link object', () => {
  it('has the 51 fields of the contract, with defaults for fields that were not given', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const url = 'https://acme.com/?utm_source=x';
    const record = await catalog.links.create(workspace.id, { domain: host, key: 'Try', url });
    const link = linkSchema.parse(catalog.links.toLink(record, CLEAR));
    expect(Object.keys(link)).toHaveLength(51);
    expect(link).toMatchObject({
      id: record.id,
      key: 'Try',
      url,
      shortLink: `https://${host}/Try`,
      qrCode: `https://api.example.com/qr?url=https://${host}/Try?qr=1`,
      utm_source: 'x',
      utm_medium: null,
      password: null,
      tags: [],
      tagId: null,
      workspaceId: workspace.id,
      projectId: workspace.id,
      ...NO_LINK_COUNTERS,
    });
  });

  it('of a root link has no key in its short link', async () => {
    const { host } = await aWorkspace(catalog);
    const root = await catalog.links.findByAddress(host, '_root');
    expect(root && catalog.links.toLink(root, CLEAR)).toMatchObject({
      key: '_root',
      url: '',
      shortLink: `https://${host}`,
    });
  });

  it('of a key outside ASCII has the key in punycode, and is found by the key as typed', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const record = await catalog.links.create(workspace.id, { domain: host, key: 'Café', url: 'https://a.com' });
    expect(record.key).toBe('xn--Caf-dma');
    expect(await catalog.links.findByAddress(host, 'xn--caf-dma')).toEqual(record);
  });

  it('has its tags, and the first of them as tagId', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const record = await catalog.links.create(workspace.id, { domain: host, url: 'https://a.com' });
    const names = ['One', 'Two'];
    const tags = await Promise.all(names.map((name) => catalog.tags.create(workspace.id, { name, color: 'red' })));
    const link = linkSchema.parse(catalog.links.toLink(record, CLEAR, undefined, tags));
    expect(link.tags).toEqual(tags.map(({ id, name, color }) => ({ id, name, color })));
    expect(link.tagId).toBe(tags[0]?.id);
  });
});

/** The value of a key, of any type that the catalog uses. */
async function valueInRedis(key: string): Promise<unknown> {
  const { client } = stores;
  const type = await client.type(key);
  if (type === 'string') return client.get(key);
  if (type === 'hash') return client.hgetall(key);
  if (type === 'zset') return client.zrange(key, '0', '-1');
  // It has expired.
  if (type === 'none') return undefined;
  throw new Error(`${key} is a ${type}`);
}

describe('a password', () => {
  it('is returned in the clear, and no store has it in the clear', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const password = 'correct horse "battery" staple ⚡';
    const record = await catalog.links.create(workspace.id, {
      domain: host,
      key: 'pw',
      url: 'https://a.com',
      password,
    });
    const other = stores.catalog();
    const read = await other.links.findByAddress(host, 'pw');
    expect(read && other.links.toLink(read, CLEAR).password).toBe(password);
    expect(JSON.stringify(record)).not.toContain('battery');
    for (const table of ['links', 'names']) {
      const result = await stores.database.client.query({
        query: `SELECT * FROM ${table} SETTINGS asterisk_include_materialized_columns = 1`,
        format: 'JSONEachRow',
      });
      const rows = JSON.stringify(await result.json());
      expect(rows).toContain(numberOf('link', record.id));
      expect(rows).not.toContain('battery');
    }
    const keys = await stores.client.keys('*');
    const values = await Promise.all(keys.map(valueInRedis));
    expect(JSON.stringify(values)).toContain(record.id);
    expect(JSON.stringify([keys, values])).not.toContain('battery');
  });

  it('cannot be decrypted for another link', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const create = (password: string | null) =>
      catalog.links.create(workspace.id, { domain: host, url: 'https://a.com', password });
    const [one, two] = await Promise.all([create('secret'), create(null)]);
    expect(() => catalog.links.toLink({ ...two, encryptedPassword: one.encryptedPassword }, CLEAR)).toThrow();
  });

  it('is null when it is empty', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const record = await catalog.links.create(workspace.id, { domain: host, url: 'https://a.com', password: '' });
    expect(catalog.links.passwordOf(record)).toBeNull();
  });
});

describe('counters', () => {
  it('are the sums of the events of each link, for many ids; links without events have none', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const links = await Promise.all(
      Array.from({ length: 3 }, () => catalog.links.create(workspace.id, { domain: host, url: 'https://a.com' })),
    );
    const [busy, quiet] = links.map((link) => numberOf('link', link.id));
    const workspaceId = numberOf('workspace', workspace.id);
    const { client } = stores.database;
    const clicks = [1, 2, 3].map((second) =>
      aClick({ workspaceId, linkId: busy, timestampMs: Date.UTC(2026, 5, 1) + second }),
    );
    const click = clicks[0]!;
    await insertClicks(client, [...clicks, aClick({ workspaceId, linkId: quiet }), aClick({ linkId: busy })]);
    await insertLeads(client, [aLead({ click })]);
    await insertSales(client, [
      aSale({ click, amount: 2900, saleType: 'new' }),
      aSale({ click, amount: 100, saleType: 'recurring' }),
    ]);
    const counters = await catalog.links.counters(workspace.id, [...links.map((link) => link.id), 'link_zzzzzzzzzzz']);
    expect(counters.get(links[0]!.id)).toEqual({
      clicks: 3,
      leads: 1,
      conversions: 1,
      sales: 2,
      saleAmount: 3000,
      lastClicked: '2026-06-01T00:00:00.003Z',
    });
    expect(counters.get(links[1]!.id)?.clicks).toBe(1);
    expect(counters.size).toBe(2);
  });

  it('are read once per workspace for concurrent callers, each of which gets its own links', async () => {
    const workspaces = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
    const numbers = workspaces.map(({ workspace }) => numberOf('workspace', workspace.id));
    const { client } = stores.database;
    await insertClicks(
      client,
      numbers.flatMap((workspaceId, index) => [
        ...Array.from({ length: index + 1 }, () => aClick({ workspaceId, linkId: '77' })),
        aClick({ workspaceId, linkId: '78' }),
      ]),
    );
    let reads = 0;
    const counting = new Proxy(client, {
      get(target, name) {
        if (name === 'rows') reads += 1;
        return Reflect.get(target, name);
      },
    });
    const counters = createCounters(counting, { isSubscribed: () => true, shared: undefined, now: Date.now });
    const ids = ['link_0000000001F', 'link_0000000001G'];
    const requests = Array.from({ length: 20 }, (_, index) => {
      const { workspace } = workspaces[index % 2]!;
      return counters.links(workspace.id, index < 10 ? ids : ids.slice(0, 1));
    });
    const answers = await Promise.all(requests);
    expect(answers.map((answer) => [answer.size, answer.get(ids[0]!)?.clicks])).toEqual(
      Array.from({ length: 20 }, (_, index) => [index < 10 ? 2 : 1, (index % 2) + 1]),
    );
    expect(reads).toBe(2);
  });

  it('have no time of a last click for a link with leads only', async () => {
    const { workspace } = await aWorkspace(catalog);
    const click = aClick({ workspaceId: numberOf('workspace', workspace.id), linkId: '77' });
    await insertLeads(stores.database.client, [aLead({ click })]);
    const [counters] = (await catalog.links.counters(workspace.id, ['link_0000000001F'])).values();
    expect(counters).toEqual({ ...NO_LINK_COUNTERS, leads: 1 });
  });
});

describe('the number of links created since a time', () => {
  it('includes removed links and no root links', async () => {
    const startedMs = Date.now();
    const { workspace, host } = await aWorkspace(catalog);
    const before = await catalog.links.createdSince(workspace.id, startedMs);
    const link = await catalog.links.create(workspace.id, { domain: host, url: 'https://a.com' });
    await catalog.links.create(workspace.id, { domain: host, url: 'https://b.com' });
    await insertRows(stores.database.client, {
      table: 'links',
      columns: ['workspace_id', 'id', 'version', 'deleted', 'key'],
      rows: [[numberOf('workspace', workspace.id), numberOf('link', link.id), 2, 1, link.key]],
    });
    expect(before).toBe(0);
    expect(await catalog.links.createdSince(workspace.id, startedMs)).toBe(2);
    expect(await catalog.links.createdSince(workspace.id, Date.now() + 1000)).toBe(0);
  });
});
