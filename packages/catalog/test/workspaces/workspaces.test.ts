import { createHash } from 'node:crypto';
import { insertRows } from '@waymark/clickhouse';
import { createResourceId, domainSchema } from '@waymark/contract';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Catalog, workspaceLimits } from '../../src/index.js';
import { recordColumns, recordRow } from '../../src/model/entity-type.js';
import { apiKeyType } from '../../src/model/entity-types.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

it('a new installation has no workspaces', async () => {
  expect(await catalog.workspaces.list()).toEqual([]);
});

describe('a new workspace', () => {
  it('has its domain, the root link, a secret key and a publishable key', async () => {
    const { workspace, domain, apiKey, publishableKey, host } = await aWorkspace(catalog);
    expect(apiKey.token).toMatch(/^dub_[0-9A-Za-z]{24}$/);
    expect(publishableKey.token).toMatch(/^dub_pk_[A-Za-z0-9_-]{16,64}$/);
    expect(domain).toMatchObject({ slug: host, primary: true, verified: true, workspaceId: workspace.id });
    const other = stores.catalog();
    expect(await other.links.findByAddress(host, '_root')).toMatchObject({ url: '', workspaceId: workspace.id });
    expect(await other.domains.primary(workspace.id)).toEqual(domain);
    expect(await other.workspaces.get(workspace.id)).toEqual(workspace);
    expect(await other.workspaces.findBySlug(workspace.slug)).toEqual(workspace);
    expect(workspace.publishableKeyHash).toBe(publishableKey.record.keyHash);
  });

  it('is listed, oldest first', async () => {
    const [one, two] = [await aWorkspace(catalog), await aWorkspace(catalog)];
    const ids = (await stores.catalog().workspaces.list()).map(({ id }) => id);
    expect(ids.slice(-2)).toEqual([one.workspace.id, two.workspace.id]);
    expect(ids).toEqual([...ids].sort());
  });

  it.each(['', 'Upper', 'a b', '-a', 'a-', 'a'.repeat(49)])('is refused the slug "%s"', async (slug) => {
    await expect(catalog.workspaces.create({ name: 'X', slug, plan: 'free' })).rejects.toMatchObject({
      code: 'unprocessable_entity',
    });
  });
});

describe('limits', () => {
  it("are those of the plan, overridden field by field by the workspace's own", async () => {
    const { workspace } = await aWorkspace(catalog);
    await catalog.workspaces.update(workspace.id, {
      plan: 'free',
      requestsPerMinute: 5,
      quotas: { linksPerMonth: null },
    });
    const updated = await catalog.workspaces.get(workspace.id);
    expect(updated && workspaceLimits(updated)).toMatchObject({
      requestsPerMinute: 5,
      analyticsPerSecond: 0,
      quotas: { linksPerMonth: null, domains: 3 },
    });
  });

  it.each([['a b'], ['http://a.com'], ['*'], ['a.*.com']])('an allowed hostname "%s" is refused', async (hostname) => {
    const { workspace } = await aWorkspace(catalog);
    const update = catalog.workspaces.update(workspace.id, { allowedHostnames: [hostname] });
    await expect(update).rejects.toMatchObject({ code: 'unprocessable_entity' });
  });

  it('a workspace allows ten hostnames, and not eleven', async () => {
    const { workspace } = await aWorkspace(catalog);
    const allow = (count: number) => {
      const allowedHostnames = Array.from({ length: count }, (_, index) => `a${index}.acme.com`);
      return catalog.workspaces.update(workspace.id, { allowedHostnames });
    };
    await allow(10);
    expect((await catalog.workspaces.get(workspace.id))?.allowedHostnames).toHaveLength(10);
    await expect(allow(11)).rejects.toMatchObject({ code: 'unprocessable_entity' });
  });
});

describe('keys', () => {
  it('count towards the hundred of a workspace until they expire', async () => {
    const catalog = stores.catalog();
    const { workspace } = await aWorkspace(catalog);
    const aKey = (expiresAt: string) =>
      catalog.keys.create({
        ...{ workspaceId: workspace.id, name: 'Key', kind: 'secret', role: 'owner', scopes: [], expiresAt },
      });
    const { record } = await aKey('2020-01-01T00:00:00.000Z');
    const expired = Array.from({ length: 99 }, () => ({ ...record, id: createResourceId('apiKey', Date.now()) }));
    await insertRows(stores.database.client, {
      ...{ table: apiKeyType.table, columns: recordColumns(apiKeyType) },
      rows: expired.map((one) => recordRow(apiKeyType, { record: one, version: 1 })),
    });
    expect(await catalog.keys.list(workspace.id)).toHaveLength(102);
    const created = await aKey('2100-01-01T00:00:00.000Z');
    expect(created.record.workspaceId).toBe(workspace.id);
  });

  it('are stored as SHA-256 only', async () => {
    const { workspace, apiKey } = await aWorkspace(catalog);
    expect(apiKey.record.keyHash).toBe(createHash('sha256').update(apiKey.token).digest('hex'));
    await catalog.keys.authenticate(apiKey.token);
    const secret = apiKey.token.slice(4, 24);
    const keys = await stores.client.keys('*');
    const values = await Promise.all(keys.map((key) => stores.client.get(key).catch(() => '')));
    expect([...keys, ...values].filter((text) => text?.includes(secret))).toEqual([]);
    const rows = await stores.database.client.query({
      query: 'SELECT data FROM api_keys FINAL',
      format: 'JSONCompactEachRow',
    });
    const stored = JSON.stringify(await rows.json());
    expect(stored).toContain(workspace.id);
    expect(stored).not.toContain(secret);
  });

  it('authenticate with their scopes, role and workspace; unknown ones do not', async () => {
    const { workspace } = await aWorkspace(catalog);
    const issued = await catalog.keys.create({
      workspaceId: workspace.id,
      name: 'Read only',
      kind: 'secret',
      role: 'member',
      scopes: ['links.read'],
      expiresAt: '2030-01-01T00:00:00.000Z',
    });
    expect(await stores.catalog().keys.authenticate(issued.token)).toEqual({ key: issued.record, workspace });
    expect(await catalog.keys.authenticate('dub_nobody')).toBeUndefined();
    expect((await catalog.keys.list(workspace.id)).map(({ name }) => name)).toEqual([
      'Default key',
      'Publishable key',
      'Read only',
    ]);
  });

  it('are at most a hundred per workspace, also when requests race', async () => {
    const { workspace } = await aWorkspace(catalog);
    const create = () =>
      catalog.keys.create({ workspaceId: workspace.id, name: 'x', kind: 'secret', role: 'owner', scopes: [] });
    await Promise.all(Array.from({ length: 97 }, create));
    const last = await Promise.allSettled([create(), create(), create()]);
    const refused = last.filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason)).toMatchObject([{ code: 'forbidden' }, { code: 'forbidden' }]);
    expect(await catalog.keys.list(workspace.id)).toHaveLength(100);
    const [first] = await catalog.keys.list(workspace.id);
    await catalog.keys.revoke(workspace.id, first?.id ?? '');
    await create();
  });
});

describe('domains', () => {
  it('are listed by workspace, with filters for archived ones and parts of the slug, in pages', async () => {
    const { workspace, host } = await aWorkspace(catalog);
    const mark = host.split('.')[1];
    await catalog.domains.create(workspace.id, { slug: `a.${mark}.example` });
    await catalog.domains.create(workspace.id, { slug: `b.${mark}.example`, archived: true });
    await aWorkspace(catalog);
    const slugs = async (options: { archived?: boolean; search?: string; page?: number; pageSize?: number }) => {
      const { archived: isArchivedShown = false, search, page = 1, pageSize = 50 } = options;
      const filters = { isArchivedShown, search };
      const request = { filters, sortBy: 'createdAt', sortOrder: 'asc', page, pageSize } as const;
      return (await catalog.domains.list(workspace.id, request)).map(({ slug }) => slug);
    };
    expect(await slugs({})).toEqual([host, `a.${mark}.example`]);
    expect(await slugs({ archived: true })).toEqual([host, `a.${mark}.example`, `b.${mark}.example`]);
    expect(await slugs({ search: `A.${mark}` })).toEqual([`a.${mark}.example`]);
    expect(await slugs({ search: '%' })).toEqual([]);
    expect(await slugs({ page: 2, pageSize: 1 })).toEqual([`a.${mark}.example`]);
    expect(await slugs({ page: 9007199254740991, pageSize: 100 })).toEqual([]);
  });

  it('are unique across workspaces, and only the first is primary', async () => {
    const [one, two] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
    await expect(catalog.domains.create(two.workspace.id, { slug: one.host })).rejects.toMatchObject({
      code: 'conflict',
    });
    const second = await catalog.domains.create(one.workspace.id, { slug: `second.${one.host}` });
    expect(second.primary).toBe(false);
    expect(domainSchema.parse(catalog.domains.toDomain(second))).toMatchObject({
      verified: true,
      registeredDomain: null,
    });
  });
});

// The last test, because it leaves the names behind.
it('a new workspace is listed, however many there are', async () => {
  const { workspace } = await aWorkspace(catalog);
  const columns = 'kind, scope, name, id, workspace_id, version, deleted';
  await stores.database.client.command({
    query: `INSERT INTO names (${columns}) SELECT 'workspace', '', concat('one of many ', toString(number)),
      18000000000000000000 + number, 18000000000000000000 + number, 1, 0 FROM numbers(60000)`,
  });
  expect(await stores.catalog().workspaces.list()).toContainEqual(workspace);
});
