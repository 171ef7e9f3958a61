import { createEventId, parseResourceId } from '@waymark/contract';
import { aClick, insertClicks } from '@waymark/test-kit';
import type { Dub } from 'dub';
import { Dub as Dub063 } from 'dub-0-63';
import { Dub as Dub066 } from 'dub-0-66';
import { Dub as Dub071 } from 'dub-0-71';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from './whole-api.js';

/** Calls the running API with older versions of the published SDK, which parse answers by the rules of their time. */

interface Access {
  readonly token: string;
  readonly serverURL: string;
}

let api: WholeApi;
beforeAll(async () => {
  api = await startWholeApi();
});
afterAll(() => api.close());

/** Enough that each of the random colors would occur. */
const TAGS = 60;
const url = 'https://acme.com/page';
const customer = (id: string) => ({ customerExternalId: id, externalId: id });
/** A link of a partner. */
const page = { tenantId: 'ada', url: 'https://acme.com/ada' };
const sale = { amount: 1000, paymentProcessor: 'custom' } as const;

/** A workspace with a click on a link, and a customer. */
async function aWorkspace(slug: string) {
  const domain = `${slug}.example`;
  const { workspace, apiKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug, plan: 'enterprise', domain },
  });
  const link = await api.catalog.links.create(workspace.id, { domain, key: 'tracked', url, trackConversion: true });
  const timestampMs = Date.now() - 60_000;
  const clickId = createEventId(timestampMs);
  const click = aClick({
    workspaceId: parseResourceId('workspace', workspace.id) ?? '',
    linkId: parseResourceId('link', link.id) ?? '',
    clickId,
    timestampMs,
  });
  await insertClicks(api.database.client, [click]);
  await api.catalog.customers.create(workspace.id, { externalId: 'user_2', country: 'FR' });
  const { id: workspaceId, defaultProgramId } = workspace;
  return {
    domain,
    clickId,
    workspaceId,
    program: { programId: defaultProgramId ?? '' },
    access: { token: apiKey.token, serverURL: api.url },
  };
}
type World = Awaited<ReturnType<typeof aWorkspace>>;

/**
 * Methods of all these versions, in an order in which they work. Some require a parameter that later ones do not send: `externalId`,
 * `paymentProcessor` or `programId`.
 */
const METHODS: Readonly<Record<string, (dub: Dub, world: World) => Promise<unknown>>> = {
  'tags.create, without a color': async (dub) => {
    const made = await Promise.all(Array.from({ length: TAGS }, (_, index) => dub.tags.create({ name: `t${index}` })));
    expect(new Set(made.map(({ id }) => id)).size).toBe(TAGS);
  },
  'tags.list': async (dub) => expect(await dub.tags.list({ pageSize: 100 })).toHaveLength(TAGS),
  'tags.update': async (dub) => {
    const [tag] = await dub.tags.list({ search: 't0' });
    expect(await dub.tags.update(tag?.id ?? '', { name: 'news' })).toMatchObject({ name: 'news' });
  },
  'folders.create': async (dub) =>
    expect(await dub.folders.create({ name: 'launch' })).toMatchObject({ name: 'launch' }),
  'folders.list': async (dub) => expect(await dub.folders.list()).toMatchObject([{ name: 'launch' }]),
  'folders.update': async (dub) => {
    const [folder] = await dub.folders.list();
    expect(await dub.folders.update(folder?.id ?? '', { name: 'launched' })).toMatchObject({ name: 'launched' });
  },
  'links.create, with every tag': async (dub) => {
    const [tags, [folder]] = [await dub.tags.list({ pageSize: 100 }), await dub.folders.list()];
    const link = await dub.links.create({
      ...{ url, key: 'one', externalId: 'one', tagIds: tags.map(({ id }) => id), folderId: folder?.id },
    });
    expect(link).toMatchObject({ key: 'one', folderId: folder?.id });
    expect(link.tags).toHaveLength(TAGS);
  },
  'links.createMany': async (dub) =>
    expect(
      await dub.links.createMany([
        { url, key: 'two' },
        { url, key: 'three' },
      ]),
    ).toMatchObject([{ key: 'two' }, { key: 'three' }]),
  'links.list': async (dub) => {
    const keys: string[] = [];
    for await (const { result } of await dub.links.list({ pageSize: 2 })) keys.push(...result.map(({ key }) => key));
    expect(keys).toEqual(['three', 'two', 'one', 'tracked', '_root']);
  },
  'links.count': async (dub) => expect(await dub.links.count({ search: 'one' })).toBe(1),
  'links.get': async (dub) => expect(await dub.links.get({ externalId: 'ext_one' })).toMatchObject({ key: 'one' }),
  'links.update': async (dub) =>
    expect(await dub.links.update('ext_one', { comments: 'changed' })).toMatchObject({ comments: 'changed' }),
  'links.upsert': async (dub) => expect(await dub.links.upsert({ url: 'https://acme.com/up' })).toHaveProperty('id'),
  'links.updateMany': async (dub) =>
    expect(await dub.links.updateMany({ externalIds: ['one'], data: { archived: true } })).toMatchObject([
      { archived: true },
    ]),
  'links.deleteMany': async (dub, { domain }) => {
    const { id } = await dub.links.get({ domain, key: 'two' });
    expect(await dub.links.deleteMany({ linkIds: [id] })).toEqual({ deletedCount: 1 });
  },
  'links.delete': async (dub) => expect(await dub.links.delete('ext_one')).toHaveProperty('id'),
  'tags.delete': async (dub) => {
    const [tag] = await dub.tags.list({ search: 'news' });
    expect(await dub.tags.delete(tag?.id ?? '')).toEqual({ id: tag?.id });
  },
  'folders.delete': async (dub) => {
    const [folder] = await dub.folders.list();
    expect(await dub.folders.delete(folder?.id ?? '')).toEqual({ id: folder?.id });
  },
  'domains.list': async (dub, { domain }) =>
    expect((await dub.domains.list()).result).toMatchObject([{ slug: domain }]),
  'track.lead': async (dub, { clickId }) =>
    expect(await dub.track.lead({ clickId, eventName: 'Sign up', ...customer('user_1') })).toMatchObject({
      ...{ click: { id: clickId }, customer: { externalId: 'user_1' } },
    }),
  'track.sale': async (dub) =>
    expect(await dub.track.sale({ ...customer('user_1'), ...sale, invoiceId: 'inv_1' })).toMatchObject({
      ...{ customer: { externalId: 'user_1' }, sale: { amount: 1000 } },
    }),
  'track.sale, of an unknown customer,': async (dub) =>
    expect(await dub.track.sale({ ...customer('unknown'), ...sale })).toMatchObject({ customer: null }),
  'customers.get': async (dub) =>
    expect(await dub.customers.get({ id: 'ext_user_2', includeExpandedFields: true })).toMatchObject({
      externalId: 'user_2',
    }),
  'customers.update': async (dub) =>
    expect(await dub.customers.update({ id: 'ext_user_2', requestBody: { name: 'Ada' } })).toMatchObject({
      name: 'Ada',
    }),
  'customers.delete': async (dub) => {
    const { id } = await dub.customers.get({ id: 'ext_user_2' });
    expect(await dub.customers.delete(id)).toEqual({ id });
  },
  'analytics.retrieve': async (dub) => {
    expect(await dub.analytics.retrieve()).toMatchObject({ clicks: 1 });
    for (const groupBy of ['countries', 'cities', 'triggers', 'top_links'] as const) {
      expect(await dub.analytics.retrieve({ groupBy })).toMatchObject([{ clicks: 1 }]);
    }
  },
  'partners.create': async (dub, { program }) => {
    const partner = await dub.partners.create({ ...program, email: 'ada@example.com', name: 'Ada', tenantId: 'ada' });
    expect(partner).toMatchObject({ name: 'Ada', tenantId: 'ada' });
  },
  'partners.createLink': async (dub, { program }) =>
    expect(await dub.partners.createLink({ ...program, ...page })).toMatchObject({ tenantId: 'ada', url: page.url }),
  'partners.upsertLink': async (dub, { program }) =>
    expect(await dub.partners.upsertLink({ ...program, ...page })).toMatchObject({ tenantId: 'ada', url: page.url }),
  'partners.retrieveLinks': async (dub, { program }) =>
    expect(await dub.partners.retrieveLinks({ ...program, tenantId: 'ada' })).toMatchObject([
      { key: 'ada' },
      { url: page.url },
    ]),
  'partners.analytics': async (dub, { program }) => {
    const request = { ...program, tenantId: 'ada' };
    expect(await dub.partners.analytics(request)).toMatchObject({ clicks: 0, earnings: 0 });
    expect(await dub.partners.analytics({ ...request, groupBy: 'top_links' })).toHaveLength(2);
  },
  'qrCodes.get': async (dub) => expect(await dub.qrCodes.get({ url })).toContain('PNG'),
};

describe.each([
  ['0.63.0', (access: Access) => new Dub063(access) as unknown as Dub],
  ['0.66.0', (access: Access) => new Dub066(access) as unknown as Dub],
  ['0.71.4', (access: Access) => new Dub071(access) as unknown as Dub],
] as const)('dub %s', (version, connect) => {
  let world: World;
  let dub: Dub;
  beforeAll(async () => {
    world = await aWorkspace(`sdk-${version.replaceAll('.', '-')}`);
    dub = connect(world.access);
  });

  it.each(Object.entries(METHODS))('%s works', async (_method, call) => {
    await call(dub, world);
  });

  it('events.list throws for an answer with events, and the error has them', async () => {
    const failure = await dub.events.list().catch((err: unknown) => err);
    expect(failure).toMatchObject({
      name: 'ResponseValidationError',
      rawValue: [{ event: 'click', click: { id: world.clickId }, link: { key: 'tracked', expiresAt: null } }],
    });
    expect(await dub.events.list({ page: 2 })).toEqual([]);
  });
});

describe('what only some versions send, require or cannot parse', () => {
  let world: World;
  let dub063: Dub063;
  let dub066: Dub066;
  let dub071: Dub071;
  let partnerId: string;
  beforeAll(async () => {
    world = await aWorkspace('some');
    dub063 = new Dub063(world.access);
    dub066 = new Dub066(world.access);
    dub071 = new Dub071(world.access);
    partnerId = (await dub071.partners.create({ email: 'ada@example.com', name: 'Ada' })).id;
  });

  it('customers.list answers with a list or with pages', async () => {
    const listed = [{ externalId: 'user_2' }];
    expect(await dub063.customers.list()).toMatchObject(listed);
    expect(await dub066.customers.list()).toMatchObject(listed);
    expect(await dub071.customers.list()).toMatchObject(listed);
  });

  it('customers.create is refused, because it sends no country', async () => {
    for (const dub of [dub063, dub066]) {
      const creation = dub.customers.create({ externalId: 'user_3', email: 'a@b.co' });
      await expect(creation).rejects.toMatchObject({ name: 'BadRequest', message: expect.stringContaining('country') });
    }
  });

  it('0.63.0 names the program of a partner: another one than the workspace’s is not found', async () => {
    const request = { partnerId, programId: 'prog_other' };
    await expect(dub063.partners.analytics(request)).rejects.toMatchObject({ name: 'NotFound' });
    await expect(dub063.partners.retrieveLinks(request)).rejects.toMatchObject({ name: 'NotFound' });
  });

  it('0.66.0 sorts partners.list by names of its own, and by one of them if the caller names none', async () => {
    const listed = [{ id: partnerId, name: 'Ada' }];
    expect(await dub066.partners.list()).toMatchObject(listed);
    expect(await dub066.partners.list({ search: 'ada' })).toMatchObject(listed);
    expect(await dub066.partners.list({ includeExpandedFields: true })).toMatchObject(listed);
    const names = ['createdAt', 'clicks', 'leads', 'conversions', 'sales', 'saleAmount', 'commissions', 'netRevenue'];
    for (const sortBy of names as Extract<Parameters<Dub066['partners']['list']>[0], object>['sortBy'][]) {
      expect(await dub066.partners.list({ sortBy })).toMatchObject(listed);
    }
  });

  it('0.71.4 lists, bans and deactivates partners; 0.66.0 throws for a list with one that is deactivated', async () => {
    const { id } = await dub071.partners.create({ email: 'eve@example.com', name: 'Eve' });
    expect(await dub071.partners.list({ search: 'eve' })).toMatchObject([{ id, status: 'approved', trustedAt: null }]);
    expect(await dub071.partners.deactivate({ partnerId: id })).toEqual({ partnerId: id });
    expect(await dub071.partners.list({ search: 'eve' })).toMatchObject([{ id, status: 'deactivated' }]);
    await expect(dub066.partners.list()).rejects.toMatchObject({ name: 'ResponseValidationError' });
    expect(await dub071.partners.ban({ partnerId: id, reason: 'spam' })).toEqual({ partnerId: id });
  });

  it('they throw for tags in gray, with the tags in the error', async () => {
    await api.catalog.tags.create(world.workspaceId, { name: 'plain', color: 'gray' });
    for (const dub of [dub063, dub066, dub071]) {
      await expect(dub.tags.list()).rejects.toMatchObject({ rawValue: [{ name: 'plain', color: 'gray' }] });
    }
  });

  it('workspaces.get throws, with the workspace in the error; workspaces.update is not found', async () => {
    for (const dub of [dub063, dub066]) {
      await expect(dub.workspaces.get({ idOrSlug: 'some' })).rejects.toMatchObject({ rawValue: { slug: 'some' } });
      const update = dub.workspaces.update('some', { name: 'Other' });
      await expect(update).rejects.toMatchObject({ name: 'NotFound' });
    }
  });
});
