import { randomUUID } from 'node:crypto';
import { startStores, stoppingClient, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Catalog, DomainRecord } from '../../src/index.js';
import { startGate } from '../store/store-gate.js';
import { aWorkspace, connected } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const isSearchForLinks = (text: string) => text.startsWith('SELECT id FROM links ');
const isLocked = (name: string) => async () => (await stores.client.exists(`waymark:lock:${name}`)) > 0;

/** A process of its own that stops at a statement; it is killed there at the end of the test at the latest. */
function aProcess(at: Parameters<typeof stoppingClient>[1]) {
  const process = stoppingClient(stores.database.client, at);
  onTestFinished(process.kill);
  return { ...process, catalog: stores.catalog({ database: process }) };
}

/** A workspace with a second domain. */
async function withSecondDomain() {
  const { workspace, host } = await aWorkspace(catalog);
  const slug = `second.${host}`;
  const second = await catalog.domains.create(workspace.id, { slug });
  const aLink = (on: string, key: string) =>
    catalog.links.create(workspace.id, { domain: on, key, url: 'https://acme.com' });
  return { workspaceId: workspace.id, host, second, slug, aLink };
}

const primariesOf = async (workspaceId: string) => {
  const request = {
    filters: { isArchivedShown: true, search: undefined },
    sortBy: 'createdAt',
    sortOrder: 'asc',
  } as const;
  const domains = await stores.catalog().domains.list(workspaceId, { ...request, page: 1, pageSize: 100 });
  return domains.filter(({ primary }) => primary).map(({ slug }) => slug);
};

describe('the removal of a domain', () => {
  it('leaves a link that is moved to another domain meanwhile', async () => {
    const { workspaceId, host, second, slug, aLink } = await withSecondDomain();
    const { id } = await aLink(slug, 'kept');
    const mover = aProcess({ statement: (text) => text === 'INSERT INTO links' });
    const moving = mover.catalog.links.update(workspaceId, id, (link) => ({ ...link, domain: host }));
    await mover.stopped;
    const remover = aProcess({ statement: isSearchForLinks, isDone: true });
    const removing = remover.catalog.domains.remove(workspaceId, second.id);
    await remover.stopped;
    remover.go();
    mover.go();
    await Promise.all([moving, removing]);
    const after = stores.catalog();
    expect((await after.links.findByAddress(host, 'kept'))?.id).toBe(id);
    expect(await after.links.findByAddress(slug, '_root')).toBeUndefined();
  });

  it('is completed if it was interrupted after the record of the domain was removed', async () => {
    const { workspaceId, host, second, slug, aLink } = await withSecondDomain();
    await catalog.domains.makePrimary(workspaceId, second.id);
    const late = await aLink(host, 'late');
    const remover = aProcess({ statement: isSearchForLinks, nth: 2 });
    const removing = remover.catalog.domains.remove(workspaceId, second.id);
    await remover.stopped;
    await catalog.links.update(workspaceId, late.id, (link) => ({ ...link, domain: slug }));
    remover.kill();
    await expect(removing).rejects.toThrow();
    expect(await stores.catalog().domains.findBySlug(slug)).toBeUndefined();
    const younger = await aLink(slug, 'younger');

    await catalog.domains.finishRemoval(workspaceId, slug);

    const after = stores.catalog();
    const left = await Promise.all(['_root', 'late', 'younger'].map((key) => after.links.findByAddress(slug, key)));
    // One that was created since may be on a domain that all workspaces share.
    expect(left.map((link) => link?.id)).toEqual([undefined, undefined, younger.id]);
    expect(await primariesOf(workspaceId)).toEqual([host]);
  });

  it('is completed by a repeated one, also in a process whose copy of the domain is from before it', async () => {
    const { workspaceId, host, second, slug } = await withSecondDomain();
    await catalog.domains.makePrimary(workspaceId, second.id);
    const startedMs = Date.now();
    const other = await connected(stores.catalog({ now: () => startedMs }), stores.client);
    await waitFor(other.isSubscribed, { what: 'the right to use copies' });
    expect((await other.domains.get(workspaceId, second.id))?.slug).toBe(slug);
    const gate = await startGate(stores.redis.url);
    const client = new Redis(gate.url);
    client.on('error', () => undefined);
    const killed = await connected(stores.catalog({ redis: client }), stores.client);
    try {
      const isCut = new Promise<void>((resolve) => {
        gate.cutAfter((chunk) => {
          if (!chunk.includes('PUBLISH') || !chunk.includes(second.id)) return false;
          gate.set('refusing');
          resolve();
          return true;
        });
      });
      killed.domains.remove(workspaceId, second.id).catch(() => undefined);
      await isCut;

      await expect(other.domains.remove(workspaceId, second.id)).rejects.toMatchObject({ code: 'not_found' });

      expect(await stores.catalog().links.findByAddress(slug, '_root')).toBeUndefined();
      expect(await primariesOf(workspaceId)).toEqual([host]);
    } finally {
      client.disconnect();
      await killed.close();
      await gate.close();
    }
  });

  it('is not completed for a domain that the workspace has never had', async () => {
    const { workspaceId, host, aLink } = await withSecondDomain();
    const { id } = await aLink(`shared.${host}`, 'kept');
    await catalog.domains.finishRemoval(workspaceId, `shared.${host}`);
    expect((await stores.catalog().links.get(workspaceId, id))?.id).toBe(id);
  });
});

it('the first domain of a workspace is primary, also if the process that creates it is killed as soon as it is stored', async () => {
  const mark = randomUUID().slice(0, 8);
  const { workspace } = await catalog.workspaces.create({ name: 'New', slug: `new-${mark}`, plan: 'enterprise' });
  const slug = `first.${mark}.example`;
  const process = aProcess({ statement: (text) => text === 'INSERT INTO domains', isDone: true });
  const creating = process.catalog.domains.create(workspace.id, { slug });
  await process.stopped;
  expect(await primariesOf(workspace.id)).toEqual([slug]);
  process.kill();
  await expect(creating).rejects.toThrow();
});

it('a workspace has one primary domain, also if another one is created and made primary while one becomes primary', async () => {
  const { workspaceId, host, second } = await withSecondDomain();
  const process = aProcess({
    statement: (text) => text.includes('FROM domains FINAL') && text.endsWith('ORDER BY id'),
    isDone: true,
  });
  const making = process.catalog.domains.makePrimary(workspaceId, second.id);
  await process.stopped;
  const third = await catalog.domains.create(workspaceId, { slug: `third.${host}` });
  const makingThird = catalog.domains.makePrimary(workspaceId, third.id);
  await Promise.race([
    makingThird,
    waitFor(isLocked(`primary/${workspaceId}`), { what: 'the lock of the primary domain' }),
  ]);
  process.go();
  await Promise.all([making, makingThird]);
  expect(await primariesOf(workspaceId)).toHaveLength(1);
});

describe('two workspaces get no domains with one host and different ports at the same time', () => {
  type Request = (by: Catalog, workspaceId: string, domain: DomainRecord, slug: string) => Promise<unknown>;
  const requests: [string, Request][] = [
    ['a creation', (by, workspaceId, _domain, slug) => by.domains.create(workspaceId, { slug })],
    ['a rename', (by, workspaceId, { id }, slug) => by.domains.update(workspaceId, id, { slug })],
    [
      'the creation of a workspace',
      (by, _workspaceId, _domain, slug) =>
        by.workspaces.create({ name: 'New', slug: slug.replaceAll('.', '-'), plan: 'enterprise', domain: slug }),
    ],
  ];
  it.each(requests)('%s', async (_what, request) => {
    const [one, other] = [await withSecondDomain(), await withSecondDomain()];
    const slug = `ports.${one.host}`;
    const process = aProcess({ statement: (text) => text === 'INSERT INTO domains' });
    const requested = request(process.catalog, one.workspaceId, one.second, slug);
    await process.stopped;
    const withPort = catalog.domains.create(other.workspaceId, { slug: `${slug}:8443` });
    const settled = Promise.allSettled([requested, withPort]);
    await Promise.race([
      withPort.catch(() => undefined),
      waitFor(isLocked(`domain-host/${slug}`), { what: 'the lock of the host' }),
    ]);
    process.go();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(withPort).rejects.toMatchObject({ code: 'conflict' });
  });

  it('and a new workspace gets none with the host of another workspace', async () => {
    const { workspaceId, slug } = await withSecondDomain();
    await catalog.domains.create(workspaceId, { slug: `ports.${slug}:8443` });
    const creation = catalog.workspaces.create({
      ...{ name: 'New', slug: `new-${slug.replaceAll('.', '-')}`, plan: 'enterprise', domain: `ports.${slug}` },
    });
    const message = `The domain "ports.${slug}" is already in use.`;
    await expect(creation).rejects.toMatchObject({ code: 'conflict', message });
  });
});
