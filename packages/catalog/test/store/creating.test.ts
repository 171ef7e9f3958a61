import { fork } from 'node:child_process';
import { once } from 'node:events';
import { insertRows, UnknownOutcomeError } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { NAMES_TABLE } from '@waymark/event-format';
import { aDomainRecord, aLinkRecord, bundleProcess, startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import {
  type CatalogRecord,
  type EntityType,
  nameRow,
  numberOf,
  recordColumns,
  recordRow,
} from '../../src/model/entity-type.js';
import { domainType, linkType } from '../../src/model/entity-types.js';
import { withLateInsert } from '../late-insert.js';
import { aWorkspace, outcomes } from '../test-catalog.js';
import { startGate } from './store-gate.js';

let stores: TestStores;
let catalog: Catalog;
let other: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  other = stores.catalog();
});
afterAll(() => stores.close());

/** Inserts only the name rows of a creation, as a process does that is killed after them. */
async function leaveNames<R extends CatalogRecord>(kind: EntityType<R>, record: R): Promise<void> {
  const owner = { id: numberOf(kind.resource, record.id), workspaceId: numberOf('workspace', record.workspaceId) };
  const rows = kind.names(record).map((name) => nameRow(name, owner, 1));
  await insertRows(stores.database.client, { ...NAMES_TABLE, rows });
}
async function leaveRecord<R extends CatalogRecord>(kind: EntityType<R>, record: R): Promise<void> {
  const rows = [recordRow(kind, { record, version: 1 })];
  await insertRows(stores.database.client, { table: kind.table, columns: recordColumns(kind), rows });
}

describe('a hundred concurrent creations of one address', () => {
  it('succeed once, through two instances and with keys in different letter case; the others conflict', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const create = (index: number) =>
      (index % 2 === 0 ? catalog : other).links.create(workspace.id, {
        domain: host,
        key: index % 3 === 0 ? 'Try' : 'try',
        url: `https://acme.com/${index}`,
      });
    const settled = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => create(index)));
    expect(outcomes(settled)).toEqual({ created: 1, codes: ['conflict'] });
    const winner = settled.find((outcome) => outcome.status === 'fulfilled');
    expect(await other.links.findByAddress(host, 'try')).toEqual(winner?.value);
  });

  it('succeed once across two processes', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const script = await bundleProcess(new URL('./create-in-child.ts', import.meta.url));
    const args = [stores.redis.url, stores.database.url, stores.database.database, workspace.id, host, '50'];
    const children = [1, 2].map(() => fork(script, args));
    await Promise.all(children.map((child) => once(child, 'message')));
    const results = children.map((child) => once(child, 'message') as Promise<[string[]]>);
    for (const child of children) child.send('go');
    const all = (await Promise.all(results)).flatMap(([codes]) => codes);
    expect(all.filter((code) => code === 'created')).toHaveLength(1);
    expect(all.filter((code) => code === 'conflict')).toHaveLength(99);
  });
});

describe('names', () => {
  it('an externalId is unique in a workspace, and can be used by another workspace', async () => {
    const [one, two] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
    const link = (host: string) => ({ domain: host, url: 'https://acme.com', externalId: 'ref-1' });
    const settled = await Promise.allSettled([
      catalog.links.create(one.workspace.id, link(one.host)),
      other.links.create(one.workspace.id, link(one.host)),
      catalog.links.create(two.workspace.id, link(two.host)),
    ]);
    expect(outcomes(settled)).toEqual({ created: 2, codes: ['conflict'] });
  });

  it('a slug and a domain are unique in the installation', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const again = { name: 'Other', plan: 'free' as const };
    await expect(other.workspaces.create({ ...again, slug: workspace.slug })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(other.workspaces.create({ ...again, slug: 'other', domain: host })).rejects.toMatchObject({
      code: 'conflict',
      message: `The domain "${host}" is already in use.`,
    });
    expect(await other.workspaces.findBySlug('other')).toBeUndefined();
  });

  it('a random key that is taken is replaced by another one', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const links = await Promise.all(
      Array.from({ length: 15 }, () =>
        catalog.links.create(workspace.id, { domain: host, url: 'https://a.com', keyLength: 1 }),
      ),
    );
    expect(new Set(links.map((link) => link.key.toLowerCase())).size).toBe(15);
  });

  it('a random key has the requested prefix and length', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = await catalog.links.create(workspace.id, {
      domain: host,
      url: 'https://a.com',
      prefix: '/c/',
      keyLength: 9,
    });
    expect(link.key).toMatch(/^c\/[0-9A-Za-z]{9}$/);
  });
});

describe('an insert with a lost answer that ClickHouse carries out after its locks have expired', () => {
  const deleteCaches = async () => stores.client.del(...(await stores.client.keys('*waymark:cache:*')));

  it.each([
    [
      'a creation',
      async (workspaceId: string, domain: string) => {
        await catalog.links.create(workspaceId, {
          domain,
          key: 'late',
          externalId: 'late',
          url: 'https://acme.com/first',
        });
      },
    ],
    [
      'a rename',
      async (workspaceId: string, _domain: string, spareId: string) => {
        await catalog.links.update(workspaceId, spareId, (link) => ({ ...link, key: 'late', externalId: 'late' }));
      },
    ],
    [
      'a creation, after which the clock was set back',
      async (workspaceId: string, domain: string) => {
        const ahead = stores.catalog({ now: () => Date.now() + 480_000 });
        await ahead.links.create(workspaceId, {
          domain,
          key: 'late',
          externalId: 'late',
          url: 'https://acme.com/first',
        });
      },
    ],
  ])('takes no name from the record that got it since: %s', async (_what, late) => {
    const { workspace, host } = await aWorkspace(catalog);
    const spare = await catalog.links.create(workspace.id, { domain: host, url: 'https://acme.com/spare' });
    const carryOut = await withLateInsert(stores, () => late(workspace.id, host, spare.id));
    const fields = { domain: host, key: 'late', externalId: 'late', url: 'https://acme.com/second' };
    const link = await catalog.links.create(workspace.id, fields);
    await carryOut();
    await deleteCaches();
    const fresh = stores.catalog();
    expect((await fresh.links.findByAddress(host, 'late'))?.id).toBe(link.id);
    expect((await fresh.links.findByExternalId(workspace.id, 'late'))?.id).toBe(link.id);
  });
});

describe('a creation that was killed', () => {
  it.each([
    ['after its name rows', leaveNames],
    ['after its record, as an older version wrote them', leaveRecord],
  ])('%s leaves the name usable', async (_when, leave) => {
    const { workspace, host } = await aWorkspace(catalog);
    await leave(linkType, aLinkRecord({ workspaceId: workspace.id, domain: host, key: 'again', externalId: 'again' }));
    expect(await other.links.findByAddress(host, 'again')).toBeUndefined();
    const link = await catalog.links.create(workspace.id, {
      domain: host,
      key: 'again',
      url: 'https://acme.com/again',
      externalId: 'again',
    });
    for (const instance of [catalog, other]) {
      expect(await instance.links.findByAddress(host, 'again')).toEqual(link);
      expect(await instance.links.findByExternalId(workspace.id, 'again')).toEqual(link);
    }
  });

  it('before its workspace was complete leaves the domain usable', async () => {
    const gone = { workspaceId: 'ws_0000000zzzz', domain: 'left.over.example', key: '_root', url: '' };
    const domain = aDomainRecord({ workspaceId: gone.workspaceId, slug: gone.domain });
    const root = aLinkRecord(gone);
    await leaveNames(domainType, domain);
    await leaveNames(linkType, root);
    await leaveRecord(linkType, root);
    await leaveRecord(domainType, domain);

    const created = await catalog.workspaces.create({ name: 'Next', slug: 'next', plan: 'free', domain: gone.domain });
    expect((await other.domains.findBySlug(gone.domain))?.workspaceId).toBe(created.workspace.id);
    expect((await other.links.findByAddress(gone.domain, '_root'))?.workspaceId).toBe(created.workspace.id);
  });
});

describe('inserts', () => {
  it('store text that ClickHouse cannot parse, without failing the links of the same insert', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const create = (tenantId: string) =>
      catalog.links.create(workspace.id, { domain: host, url: 'https://a.com', tenantId });
    const [odd] = await Promise.all([create('\ud800'), create('fine'), create('\u0000')]);
    expect((await other.links.get(workspace.id, odd.id))?.tenantId).toBe('\ud800');
  });

  it('with an unknown outcome keep the lock on the URL of an upsert; with a definite error they do not', async () => {
    const { workspace } = await aWorkspace(catalog);
    const heldAfter = async (error: Error) => {
      const urls = [error.name];
      const failing = catalog.links.underLinkLocks(workspace.id, urls, () => Promise.reject(error));
      await expect(failing).rejects.toBe(error);
      return (await stores.client.keys(`waymark:lock:link-url/${workspace.id}/*`)).length;
    };
    expect(await heldAfter(new ApiError('conflict', 'The key is taken.'))).toBe(0);
    expect(await heldAfter(new UnknownOutcomeError(new Error('the connection was closed')))).toBe(1);
  });

  it('with an unknown outcome keep the name locked; with a definite error they do not', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const gate = await startGate(stores.database.url);
    const database = stores.databaseAt(gate.url);
    const behind = stores.catalog({ database });
    const lock = () => stores.client.pttl(`waymark:lock:name/link/${host}/lost`);
    const create = () => behind.links.create(workspace.id, { domain: host, key: 'lost', url: 'https://a.com' });

    gate.cutAfter((chunk) => chunk.includes('INSERT'));
    await expect(create()).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 30 });
    expect(await lock()).toBeGreaterThan(20_000);
    await database.client.close();
    await gate.close();

    await catalog.links.create(workspace.id, { domain: host, key: 'found', url: 'https://a.com' });
    expect(await stores.client.exists(`waymark:lock:name/link/${host}/found`)).toBe(0);
    await stores.client.del(`waymark:lock:name/link/${host}/lost`);
    const retried = await waitFor(
      () => catalog.links.create(workspace.id, { domain: host, key: 'lost', url: 'https://b.com' }),
      {
        what: 'the name to be usable once its lock has gone',
      },
    );
    expect((await other.links.findByAddress(host, 'lost'))?.id).toBe(retried.id);
  });

  it('of a name with NUL are refused, because it could never be looked up', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const link = { domain: host, url: 'https://a.com', externalId: 'a\0b' };
    await expect(catalog.links.create(workspace.id, link)).rejects.toMatchObject({ code: 'unprocessable_entity' });
    expect(await catalog.links.findByExternalId(workspace.id, 'a\0b')).toBeUndefined();
  });
});
