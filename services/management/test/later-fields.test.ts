import type { Catalog } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from './test-management.js';

/** What a process of a later release has added to a record; see `recordSchema` of the catalog. */
const ADDED: object = { addedLater: 'a later release' };

let management: TestManagement;
let caller: Caller;

beforeAll(async () => {
  management = await startManagement();
  caller = await aCaller(management);
});
afterAll(() => management.close());

interface Resource {
  readonly path: string;
  readonly body: object;
  readonly change: object;
  /** Stores the field as a process of the later release would. */
  readonly add: (catalog: Catalog, workspaceId: string, id: string) => Promise<object>;
  readonly read: (catalog: Catalog, workspaceId: string, id: string) => Promise<object | undefined>;
}

describe('a record with a field of a later release', () => {
  it.each<Resource>([
    {
      ...{ path: '/tags', body: { name: 'news' }, change: { name: 'press' } },
      add: ({ tags }, ...ids) => tags.update(...ids, () => ADDED),
      read: ({ tags }, ...ids) => tags.get(...ids),
    },
    {
      ...{ path: '/folders', body: { name: 'spring' }, change: { name: 'summer' } },
      add: ({ folders }, ...ids) => folders.update(...ids, () => ADDED),
      read: ({ folders }, ...ids) => folders.get(...ids),
    },
    {
      path: '/webhooks',
      body: { name: 'Hook', url: 'https://hooks.example/', triggers: ['link.created'] },
      change: { name: 'Other hook' },
      add: ({ webhooks }, ...ids) => webhooks.update(...ids, () => ADDED),
      read: ({ webhooks }, ...ids) => webhooks.get(...ids),
    },
    {
      ...{ path: '/domains', body: { slug: 'go.later.example' }, change: { archived: true } },
      add: ({ domains }, ...ids) => domains.update(...ids, ADDED),
      read: ({ domains }, ...ids) => domains.get(...ids),
    },
    {
      ...{ path: '/customers', body: { externalId: 'user_1', country: 'FR' }, change: { name: 'Ada' } },
      add: ({ customers }, ...ids) => customers.update(...ids, () => ADDED),
      read: ({ customers }, ...ids) => customers.get(...ids),
    },
    {
      ...{ path: '/links', body: { url: 'https://acme.example/' }, change: { comments: 'checked' } },
      add: ({ links }, ...ids) => links.update(...ids, (link) => ({ ...link, ...ADDED })).then((link) => link ?? {}),
      read: ({ links }, ...ids) => links.get(...ids),
    },
  ])('is answered by $path without that field, and keeps it when it is changed', async (resource) => {
    const { path, body, change, add, read } = resource;
    const { catalog } = management;
    const { body: created } = await caller.call<{ id: string; slug?: string }>('POST', path, body);
    expect(await add(catalog, caller.workspaceId, created.id)).toMatchObject(ADDED);
    const listed = await caller.get<readonly { id: string }[]>(path);
    expect([listed.status, JSON.stringify(listed.body)]).toEqual([200, expect.stringContaining(created.id)]);
    const changed = await caller.call('PATCH', `${path}/${created.slug ?? created.id}`, change);
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining(change)]);
    expect(JSON.stringify([listed.body, changed.body])).not.toContain('addedLater');
    expect(await read(catalog, caller.workspaceId, created.id)).toMatchObject(ADDED);
  });
});

it('a link is answered without fields of a later release in its variants, and changes keep them', async () => {
  const { catalog } = management;
  const shares = [40, 60].map((percentage) => ({ url: `https://acme.example/${percentage}`, percentage }));
  const later = shares.map((variant) => ({ ...variant, ...ADDED }));
  const body = { url: 'https://acme.example/', trackConversion: true, testVariants: shares };
  const times = { testStartedAt: '2026-03-04T12:30:45.678Z', testCompletedAt: '2100-01-01T00:00:00.000Z' };
  const { id } = (await caller.call<{ id: string }>('POST', '/links', { ...body, ...times })).body;
  await catalog.links.update(caller.workspaceId, id, (link) => ({ ...link, testVariants: later }));
  expect((await caller.get(`/links/${id}`)).body.testVariants).toEqual(shares);
  const changed = await caller.call<{ testVariants: object }>('PATCH', `/links/${id}`, { comments: 'checked' });
  expect([changed.status, changed.body.testVariants]).toEqual([200, shares]);
  expect((await catalog.links.get(caller.workspaceId, id))?.testVariants).toEqual(later);
});

it('an application is answered without fields of a later release in the answers of its form', async () => {
  const { partners } = management.catalog;
  const answer = { label: 'Site', value: 'https://ann.example' };
  const { id } = await partners.create(caller.workspaceId, {
    ...{ name: 'Ann', email: 'ann@later.example', status: 'pending' },
    applicationFormData: [{ ...answer, ...ADDED }],
  });
  const { status, body } = await caller.get<readonly object[]>('/partners/applications');
  expect([status, body]).toEqual([200, [expect.objectContaining({ id, applicationFormData: [answer] })]]);
});

it('a webhook is answered without triggers of a later release, and changes of its triggers keep them', async () => {
  const { catalog } = management;
  const body = { name: 'Hook', url: 'https://triggers.example/', triggers: ['link.created'] };
  const { id } = (await caller.call<{ id: string }>('POST', '/webhooks', body)).body;
  await catalog.webhooks.update(caller.workspaceId, id, ({ triggers }) => ({ triggers: [...triggers, 'lead.later'] }));
  const answered = await caller.get<{ triggers: string[] }>(`/webhooks/${id}`);
  expect(answered.body.triggers).toEqual(['link.created']);
  const changed = await caller.call('PATCH', `/webhooks/${id}`, { triggers: ['sale.created'] });
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ triggers: ['sale.created'] })]);
  expect((await catalog.webhooks.get(caller.workspaceId, id))?.triggers).toEqual(['sale.created', 'lead.later']);
});
