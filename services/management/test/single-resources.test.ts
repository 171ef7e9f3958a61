import { type Domain, formatResourceId, PLANS, type Workspace, workspaceSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from './test-management.js';

// Reads of one resource by its path: docs/reference/resources.md.

let management: TestManagement;
let acme: Caller;
let stranger: Caller;
/** By kind, the path of a resource, and the path of the list that has it. */
const made = new Map<string, { readonly path: string; readonly list: string }>();

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  stranger = await aCaller(management);
  const id = async (path: string, body: object) => (await acme.call<{ id: string }>('POST', path, body)).body.id;
  made.set('tag', { path: `/tags/${await id('/tags', { name: 'news' })}`, list: '/tags' });
  made.set('folder', { path: `/folders/${await id('/folders', { name: 'Launch' })}`, list: '/folders' });
  made.set('domain', { path: `/domains/${acme.host}`, list: '/domains' });
  const partner = { email: 'ada@example.com', name: 'Ada', tenantId: 'tenant 7' };
  made.set('partner', { path: `/partners/${await id('/partners', partner)}`, list: '/partners' });
  made.set('partner of a tenant', { path: '/partners/ext_tenant%207', list: '/partners' });
  made.set('UTM template', { path: `/utm/${await id('/utm', { name: 'Mail', utm_source: 'mail' })}`, list: '/utm' });
});
afterAll(() => management.close());

const KINDS = ['tag', 'folder', 'domain', 'partner', 'partner of a tenant', 'UTM template'];
const of = (kind: string) => made.get(kind) ?? expect.fail(kind);

describe('one resource', () => {
  it.each(KINDS)('is the same as in its list: %s', async (kind) => {
    const { path, list } = of(kind);
    const { status, body } = await acme.get<unknown>(path);
    expect([status, [body]]).toEqual([200, (await acme.get<unknown>(list)).body]);
  });

  it.each(KINDS)('is not found by another workspace: %s', async (kind) => {
    const { status, body } = await stranger.get(of(kind).path);
    expect([status, body.error.code]).toEqual([404, 'not_found']);
  });

  it.each(['/tags', '/folders', '/domains', '/partners', '/utm', '/workspaces'])(
    'that does not exist is not found, however odd its name: %s',
    async (list) => {
      const names = [
        'x',
        formatResourceId('tag', 1n),
        '%00',
        '%F0%9F%92%A9',
        '..%2f',
        'ext_',
        'ext_%00',
        '_',
        'a'.repeat(3000),
      ];
      for (const name of [...names, '漢'.repeat(500)]) {
        const { status, body } = await acme.get(`${list}/${name}`);
        expect(status, `${name.slice(0, 20)}: ${JSON.stringify(body)}`).toBe(404);
      }
    },
  );

  it('a domain is found in any case', async () => {
    expect((await acme.get<Domain>(`/domains/${acme.host.toUpperCase()}`)).body.slug).toBe(acme.host);
  });

  it.each([
    ['/tags/{}', 'tag', 'tags.read', 'links.read'],
    ['/folders/{}', 'folder', 'folders.read', 'links.read'],
    ['/domains/{}', 'domain', 'domains.read', 'links.read'],
    ['/utm/{}', 'UTM template', 'links.read', 'tags.read'],
  ] as const)('needs the permission of its list: %s', async (_path, kind, scope, other) => {
    const { path } = of(kind);
    expect((await (await withKey(management, acme, 'viewer', [scope])).get(path)).status).toBe(200);
    expect((await (await withKey(management, acme, 'viewer', [other])).get(path)).status).toBe(403);
  });

  it.each(['tag', 'folder', 'domain', 'UTM template'])(
    'keeps its fields after a PATCH without a body: %s',
    async (kind) => {
      const { path } = of(kind);
      const { body: before } = await acme.get<object>(path);
      const { status, body } = await acme.call<object>('PATCH', path);
      expect([status, { ...body, updatedAt: null }]).toEqual([200, { ...before, updatedAt: null }]);
      expect((await acme.get<object>(path)).body).toEqual(body);
    },
  );

  it('is visible to the role billing, except customers and partners, and none can be changed by it', async () => {
    const billing = await withKey(management, acme, 'billing');
    const statusOf = async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) =>
      (await billing.call(method, path, body)).status;
    for (const path of ['/links', '/links/count', '/tags', '/folders', '/domains', '/utm', '/webhooks']) {
      expect(await statusOf('GET', path), path).toBe(200);
    }
    for (const kind of KINDS.filter((one) => !one.startsWith('partner'))) {
      const { path, list } = of(kind);
      const body = { name: 'Changed', slug: 'changed.example' };
      const statuses = [
        await statusOf('GET', path),
        await statusOf('PATCH', path, body),
        await statusOf('POST', list, body),
      ];
      expect(statuses, kind).toEqual([200, 403, 403]);
    }
    for (const path of ['/customers', '/partners']) {
      const statuses = [await statusOf('GET', path), await statusOf('POST', path, { email: 'a@example.com' })];
      expect(statuses, path).toEqual([403, 403]);
    }
    expect(await statusOf('POST', '/links', { url: 'https://acme.com' })).toBe(403);
  });

  it('of partners is visible to owners and members', async () => {
    const { path } = of('partner');
    expect((await (await withKey(management, acme, 'member')).get(path)).status).toBe(200);
    expect((await (await withKey(management, acme, 'viewer')).get(path)).status).toBe(403);
  });
});

describe('GET /workspaces/{idOrSlug}', () => {
  it.each(PLANS)('answers by id and by slug, with the limits of the plan %s', async (plan) => {
    const caller = await aCaller(management, plan);
    const { body } = await caller.get<Workspace>(`/workspaces/${caller.workspaceId}`);
    const workspace = workspaceSchema.parse(body);
    expect(workspace).toMatchObject({ id: caller.workspaceId, plan, usage: 0, linksUsage: 0 });
    expect((await caller.get<Workspace>(`/workspaces/${workspace.slug.toUpperCase()}`)).body).toEqual(body);
    expect([workspace.usageLimit, workspace.linksLimit, workspace.tagsLimit]).toEqual(
      {
        free: [1000, 25, 5],
        pro: [50_000, 1000, 25],
        business: [250_000, 10_000, null],
        advanced: [1_000_000, 50_000, null],
        enterprise: [5_000_000, null, null],
      }[plan],
    );
  });

  it('counts links as they are created, and shows changed limits of the workspace at once', async () => {
    const caller = await aCaller(management, 'pro');
    await caller.post({ url: 'https://acme.com' });
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { tags: 7 }, requestsPerMinute: 99 });
    const { body } = await caller.get<Workspace>(`/workspaces/${caller.workspaceId}`);
    expect(body).toMatchObject({ linksUsage: 1, tagsLimit: 7, foldersLimit: 3, requestsPerMinute: 99 });
  });

  it('reveals nothing about other workspaces, and needs workspaces.read', async () => {
    const other = (await stranger.get<Workspace>(`/workspaces/${stranger.workspaceId}`)).body;
    for (const name of [other.id, other.slug]) expect((await acme.get(`/workspaces/${name}`)).status).toBe(404);
    const path = `/workspaces/${acme.workspaceId}`;
    expect((await (await withKey(management, acme, 'viewer', ['workspaces.read'])).get(path)).status).toBe(200);
    expect((await (await withKey(management, acme, 'viewer', ['links.read'])).get(path)).status).toBe(403);
  });
});
