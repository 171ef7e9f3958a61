import { insertRows } from '@waymark/clickhouse';
import { NAMES_TABLE } from '@waymark/event-format';
import { startStores, stoppingClient, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Catalog, DomainRecord, LinkRecord } from '../../src/index.js';
import { nameRow, numberOf, recordColumns, recordRow } from '../../src/model/entity-type.js';
import { domainHost, domainType, linkAddress, linkType } from '../../src/model/entity-types.js';
import { aWorkspace, connected, wipeCaches } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

/** Leaves the stores as a process does that is killed after renaming the domain and before moving any link. */
async function renameOnly(domain: DomainRecord, slug: string): Promise<void> {
  const client = stores.database.client;
  const owner = { id: numberOf('domain', domain.id), workspaceId: numberOf('workspace', domain.workspaceId) };
  await insertRows(client, { ...NAMES_TABLE, rows: [nameRow(domainHost(slug), owner, 2)] });
  const record = { ...domain, slug, movedFrom: domain.slug };
  const rows = [recordRow(domainType, { record, version: 2 })];
  await insertRows(client, { table: domainType.table, columns: recordColumns(domainType), rows });
  await wipeCaches(stores.client);
}

/** Resolves when rows of the table have been read. */
async function readOf(table: string): Promise<void> {
  const { client } = stores.database;
  const { rows } = client;
  await new Promise<void>((resolve, reject) => {
    client.rows = (async (read: Parameters<typeof rows>[0]) => {
      const result = rows(read);
      if (read.query.includes(`FROM ${table} `)) result.then(() => resolve(), reject);
      return result;
    }) as typeof rows;
  });
  client.rows = rows;
}

/** Renames the domain in a process that stops before its nth search for links to move. Resolves when it has stopped. */
async function renameThatStops(nth: number, { workspaceId, id }: DomainRecord, slug: string) {
  const isSearch = (text: string) => text.startsWith('SELECT id FROM links ');
  const process = stoppingClient(stores.database.client, { statement: isSearch, nth });
  const end = stores.catalog({ database: process }).domains.update(workspaceId, id, { slug });
  await process.stopped;
  return { go: process.go, end };
}

it('when a move is killed, links still redirect, and the next update completes the move', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const link = await catalog.links.create(workspace.id, { domain: host, key: 'half', url: 'https://acme.com' });
  await renameOnly(domain, `new.${host}`);
  const next = stores.catalog();
  expect((await next.domains.findBySlug(host))?.slug).toBe(`new.${host}`);
  expect((await next.links.findByAddress(host, 'half'))?.id).toBe(link.id);
  await next.domains.update(workspace.id, domain.id, {});
  const after = stores.catalog();
  expect((await after.links.findByAddress(`new.${host}`, 'half'))?.id).toBe(link.id);
  expect(await after.links.findByAddress(host, 'half')).toBeUndefined();
  expect(await after.domains.findBySlug(host)).toBeUndefined();
});

it('links stored under one key in two encodings, by releases that allowed it, move with their domain', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const create = (key: string) => catalog.links.create(workspace.id, { domain: host, key, url: 'https://acme.com' });
  const [atDub, typed] = ['xn--blog/mnchen-yhb', 'blog/xn--mnchen-3ya'];
  const imported = await create(atDub);
  const native = { ...(await create('other')), key: typed };
  const typedNameOf = ({ id }: LinkRecord, version: number, isRemoved: boolean) => {
    const owner = { id: numberOf('link', id), workspaceId: numberOf('workspace', workspace.id) };
    return nameRow(linkAddress(host, typed), owner, version, isRemoved);
  };
  const client = stores.database.client;
  const nameRows = [typedNameOf(imported, 2, true), typedNameOf(native, 3, false)];
  await insertRows(client, { ...NAMES_TABLE, rows: nameRows });
  const rows = [recordRow(linkType, { record: native, version: Date.now() + 1 })];
  await insertRows(client, { table: linkType.table, columns: recordColumns(linkType), rows });
  await wipeCaches(stores.client);
  const slug = `new.${host}`;
  expect(await stores.catalog().domains.update(workspace.id, domain.id, { slug })).toMatchObject({ movedFrom: null });
  const after = stores.catalog();
  expect((await after.links.findByAddress(slug, atDub))?.id).toBe(imported.id);
  expect((await after.links.findByAddress(slug, typed))?.id).toBe(native.id);
});

it('while links are moved, a key on one of the two hosts cannot be used on the other, so that the move ends', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const create = (on: Catalog, slug: string, key: string) =>
    on.links.create(workspace.id, { domain: slug, key, url: 'https://acme.com' });
  const link = await create(catalog, host, 'one');
  const slug = `new.${host}`;
  await renameOnly(domain, slug);
  const next = stores.catalog();
  const other = await create(next, slug, 'two');
  const taken = { code: 'conflict' };
  await expect(create(next, slug, 'one')).rejects.toMatchObject(taken);
  await expect(create(next, host, 'two')).rejects.toMatchObject(taken);
  const rename = next.links.update(workspace.id, other.id, (record) => ({ ...record, key: 'one' }));
  await expect(rename).rejects.toMatchObject(taken);
  const both = [host, slug].map((one) => ({ domain: one, key: 'three', url: 'https://acme.com' }));
  expect(await next.links.createMany(workspace.id, both)).toMatchObject([{ key: 'three' }, taken]);
  const race = await Promise.allSettled([create(next, slug, 'four'), create(stores.catalog(), host, 'four')]);
  expect(race.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await next.domains.update(workspace.id, domain.id, {});
  const after = stores.catalog();
  expect((await after.links.findByAddress(slug, 'one'))?.id).toBe(link.id);
  expect((await after.links.findByAddress(slug, 'two'))?.id).toBe(other.id);
  expect(await after.domains.findBySlug(host)).toBeUndefined();
});

it('a late end of one rename does not stop the move of the next', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const link = await catalog.links.create(workspace.id, { domain: host, key: 'try', url: 'https://acme.com' });
  const [second, third] = [`second.${host}`, `third.${host}`];
  // It has moved all links, and finds no more.
  const late = await renameThatStops(2, domain, second);
  const lock = `waymark:lock:record/links/${link.id}`;
  await stores.client.set(lock, 'of the test');
  const next = stores.catalog();
  const renamingAgain = next.domains.update(workspace.id, domain.id, { slug: third });
  renamingAgain.catch(() => undefined);
  await waitFor(() => next.domains.findBySlug(third), { what: 'the third address' });
  late.go();
  await late.end;
  const meanwhile = stores.catalog();
  expect((await meanwhile.domains.findBySlug(second))?.id).toBe(domain.id);
  expect((await meanwhile.links.findByAddress(second, 'try'))?.id).toBe(link.id);
  await stores.client.del(lock);
  expect(await renamingAgain).toMatchObject({ slug: third, movedFrom: null });
  expect((await stores.catalog().links.findByAddress(third, 'try'))?.id).toBe(link.id);
});

it('a rename that ends after the domain was renamed back leaves the links where they are', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const link = await catalog.links.create(workspace.id, { domain: host, key: 'try', url: 'https://acme.com' });
  // It looks once more for links on the old address.
  const late = await renameThatStops(3, domain, `new.${host}`);
  await stores.catalog().domains.update(workspace.id, domain.id, { slug: host });
  late.go();
  await late.end;
  const after = stores.catalog();
  expect((await after.links.findByAddress(host, 'try'))?.id).toBe(link.id);
  expect(await after.domains.findBySlug(`new.${host}`)).toBeUndefined();
});

it('removing a domain whose move was killed removes the links of both slugs', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const link = await catalog.links.create(workspace.id, { domain: host, key: 'half', url: 'https://acme.com' });
  await renameOnly(domain, `new.${host}`);
  const next = stores.catalog();
  await next.domains.remove(workspace.id, domain.id);
  expect(await next.links.get(workspace.id, link.id)).toBeUndefined();
  expect(await next.links.findByAddress(host, '_root')).toBeUndefined();
});

it('removing a domain that is renamed meanwhile also removes the links that were made on its new address', async () => {
  const { workspace, domain, host } = await aWorkspace(catalog);
  if (domain === undefined) throw new Error('the workspace has a domain');
  const create = (slug: string) => catalog.links.create(workspace.id, { domain: slug, url: 'https://acme.com' });
  const held = await create(host);
  const lock = `waymark:lock:record/links/${held.id}`;
  await stores.client.set(lock, 'of the test');
  const read = readOf('links');
  const removing = catalog.domains.remove(workspace.id, domain.id);
  await read;
  const other = stores.catalog();
  const slug = `new.${host}`;
  const renaming = other.domains.update(workspace.id, domain.id, { slug });
  renaming.catch(() => undefined);
  await waitFor(() => other.domains.findBySlug(slug), { what: 'the new address' });
  const late = await create(slug);
  await stores.client.del(lock);
  await Promise.allSettled([removing, renaming]);
  await removing;
  for (const { id } of [held, late]) expect(await stores.catalog().links.get(workspace.id, id)).toBeUndefined();
});

it('a workspace gets no domain with the host of another workspace, whose domain has a port', async () => {
  const [owner, other] = [await aWorkspace(catalog), await aWorkspace(catalog)];
  const host = `ports.${owner.host}`;
  const withPort = await catalog.domains.create(owner.workspace.id, { slug: `${host}:8443` });
  const conflict = { code: 'conflict', message: `The domain "${host}" is already in use.` };
  await expect(catalog.domains.create(other.workspace.id, { slug: host })).rejects.toMatchObject(conflict);
  const renamed = catalog.domains.update(other.workspace.id, other.domain?.id ?? '', { slug: host });
  await expect(renamed).rejects.toMatchObject(conflict);
  const nextPort = catalog.domains.create(other.workspace.id, { slug: `${host}:8444` });
  await expect(nextPort).rejects.toMatchObject({ code: 'conflict' });
  await catalog.domains.create(other.workspace.id, { slug: `${host}.other.example` });
  expect((await catalog.domains.create(owner.workspace.id, { slug: host })).workspaceId).toBe(owner.workspace.id);
  await catalog.domains.update(owner.workspace.id, withPort.id, { slug: `${host}:8444` });
});

it('a change of the primary domain is visible to every process at once', async () => {
  const { workspace, domain: first, host } = await aWorkspace(catalog);
  if (first === undefined) throw new Error('the workspace has a domain');
  const second = await catalog.domains.create(workspace.id, { slug: `two.${host}` });
  const startedMs = Date.now();
  // Its cached copies never expire: only invalidations evict them.
  const other = await connected(stores.catalog({ now: () => startedMs }), stores.client);
  await waitFor(other.isSubscribed, { what: 'the right to use copies' });
  const slugIn = async (one: Catalog) => (await one.domains.primary(workspace.id))?.slug;
  const becomes = async (slug: string) => {
    expect(await slugIn(catalog)).toBe(slug);
    expect(await slugIn(other)).toBe(slug);
  };
  await becomes(host);
  await catalog.domains.makePrimary(workspace.id, second.id);
  await becomes(`two.${host}`);
  await catalog.domains.update(workspace.id, second.id, { slug: `new.${host}` });
  await becomes(`new.${host}`);
  await catalog.domains.remove(workspace.id, second.id);
  await becomes(host);
});

it('the domain for links that name none is found without reading the others, and is never an archived one', async () => {
  const { workspace, domain: first, host } = await aWorkspace(catalog);
  if (first === undefined) throw new Error('the workspace has a domain');
  const [second, third] = [
    await catalog.domains.create(workspace.id, { slug: `two.${host}` }),
    await catalog.domains.create(workspace.id, { slug: `three.${host}` }),
  ];
  const counts: number[] = [];
  const { client } = stores.database;
  const rows = (async (read: Parameters<typeof client.rows>[0]) => {
    const result = await client.rows(read);
    if (read.query.includes('FROM domains ')) counts.push(result.length);
    return result;
  }) as typeof client.rows;
  /** In a process that has no copies. */
  const found = async () => {
    const { domains } = stores.catalog({ database: { client: Object.create(client, { rows: { value: rows } }) } });
    return (await domains.primary(workspace.id))?.slug;
  };
  const archive = ({ id }: DomainRecord) => catalog.domains.update(workspace.id, id, { archived: true });
  await catalog.domains.makePrimary(workspace.id, third.id);
  expect(await found()).toBe(`three.${host}`);
  await archive(third);
  expect(await found()).toBe(host);
  await archive(first);
  expect(await found()).toBe(`two.${host}`);
  await archive(second);
  expect(await found()).toBeUndefined();
  expect(counts).toEqual([1, 1, 1, 0]);
});

it('domains are created, renamed and removed without reading the others with their files', async () => {
  const { workspace, host } = await aWorkspace(catalog);
  const assetLinks = JSON.stringify('x'.repeat(100_000));
  await catalog.domains.create(workspace.id, { slug: `two.${host}`, assetLinks });
  await catalog.domains.create(workspace.id, { slug: `three.${host}:8443`, assetLinks });
  const counts: number[] = [];
  const { client } = stores.database;
  const rows = (async (read: Parameters<typeof client.rows>[0]) => {
    const result = await client.rows(read);
    if (read.query.includes('FROM domains ')) counts.push(JSON.stringify(result).length);
    return result;
  }) as typeof client.rows;
  const other = stores.catalog({ database: { client: Object.create(client, { rows: { value: rows } }) } });
  const created = await other.domains.create(workspace.id, { slug: `three.${host}` });
  await other.domains.update(workspace.id, created.id, { slug: `three.${host}:8444` });
  await other.domains.remove(workspace.id, created.id);
  expect(counts.length).toBeGreaterThan(0);
  expect(counts.filter((chars) => chars > 100_000)).toEqual([]);
});

it('a domain that is removed while it becomes the primary one leaves the primary domain as it was', async () => {
  const { workspace, domain: first, host } = await aWorkspace(catalog);
  if (first === undefined) throw new Error('the workspace has a domain');
  const second = await catalog.domains.create(workspace.id, { slug: `two.${host}` });
  const lock = `waymark:lock:record/domains/${first.id}`;
  await stores.client.set(lock, 'of the test');
  const read = readOf('domains');
  const making = catalog.domains.makePrimary(workspace.id, second.id);
  making.catch(() => undefined);
  await read;
  await stores.catalog().domains.remove(workspace.id, second.id);
  await stores.client.del(lock);
  await expect(making).rejects.toMatchObject({ code: 'not_found' });
  expect((await stores.catalog().domains.get(workspace.id, first.id))?.primary).toBe(true);
});

it('the error for a taken domain names the domain, never the address of its root link', async () => {
  const { workspace, host } = await aWorkspace(catalog);
  const catalogs = Array.from({ length: 8 }, () => stores.catalog());
  const outcomes = async (slug: string) => {
    const attempts = catalogs.map(({ domains }) => domains.create(workspace.id, { slug }));
    const results = await Promise.allSettled(attempts);
    return results.flatMap((result) => (result.status === 'rejected' ? [result.reason.message] : []));
  };
  // Which of the two names is found taken first is a matter of chance, so it is tried often.
  for (const slug of Array.from({ length: 8 }, (_, index) => `twice${index}.${host}`)) {
    expect(await outcomes(slug)).toEqual(Array(7).fill(`A domain "${slug}" exists already.`));
  }
});
