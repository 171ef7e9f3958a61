import { createEventId, parseResourceId } from '@waymark/contract';
import { aClick, insertClicks } from '@waymark/test-kit';
import { Dub } from 'dub';
import * as errors from 'dub/models/errors';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { methodsOf } from './sdk/method-names.js';
import { startWholeApi, type WholeApi } from './whole-api.js';

/** Calls every method of the published SDK on the running API, with only `serverURL` set. */

let api: WholeApi;
let dub: Dub;
let workspaceId: string;
let domain: string;
let clickId: string;
/** Ids of the resources that earlier calls have created. */
const ids = { tag: '', folder: '', customer: '', partner: '', applicant: '', other: '' };

beforeAll(async () => {
  api = await startWholeApi();
  domain = 'go.acme.example';
  const created = await api.catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise', domain });
  workspaceId = created.workspace.id;
  dub = new Dub({ token: created.apiKey.token, serverURL: api.url });
  const link = await api.catalog.links.create(workspaceId, {
    ...{ domain, key: 'tracked', url: 'https://acme.com', trackConversion: true },
  });
  const timestampMs = Date.now() - 60_000;
  clickId = createEventId(timestampMs);
  const click = aClick({
    workspaceId: parseResourceId('workspace', workspaceId) ?? '',
    linkId: parseResourceId('link', link.id) ?? '',
    clickId,
    timestampMs,
  });
  await insertClicks(api.database.client, [click]);
  const apply = (name: string) =>
    api.catalog.partners.create(workspaceId, { name, email: `${name}@example.com`, status: 'pending' });
  [ids.applicant, ids.other] = [(await apply('good')).id, (await apply('bad')).id];
});
afterAll(() => api.close());

const url = 'https://acme.com/page';

/** Calls in order: later ones use what earlier ones have created. */
const WORKS: Readonly<Record<string, () => Promise<unknown>>> = {
  'tags.create': async () => {
    ids.tag = (await dub.tags.create({ name: 'news', color: 'red' })).id;
  },
  'tags.list': async () => expect(await dub.tags.list({ ids: [ids.tag] })).toHaveLength(1),
  'tags.update': () => dub.tags.update(ids.tag, { name: 'old news' }),
  'folders.create': async () => {
    ids.folder = (await dub.folders.create({ name: 'launch' })).id;
  },
  'folders.list': async () => expect(await dub.folders.list()).toHaveLength(1),
  'folders.update': () => dub.folders.update(ids.folder, { name: 'launched' }),
  'links.create': async () => {
    const link = await dub.links.create({
      url,
      key: 'one',
      externalId: 'one',
      tagIds: [ids.tag],
      folderId: ids.folder,
    });
    expect(link).toMatchObject({ tagId: ids.tag, folderId: ids.folder });
  },
  'links.createMany': async () =>
    expect(
      await dub.links.createMany([
        { url, key: 'two' },
        { url, key: 'three' },
      ]),
    ).toHaveLength(2),
  'links.list': async () => {
    expect((await dub.links.list({ search: 'one' })).result).toHaveLength(1);
  },
  'links.count': async () => expect(await dub.links.count({ tagIds: ids.tag })).toBe(1),
  'links.get': async () => expect(await dub.links.get({ externalId: 'ext_one' })).toMatchObject({ key: 'one' }),
  'links.update': () => dub.links.update('ext_one', { comments: 'changed' }),
  'links.upsert': () => dub.links.upsert({ url: 'https://acme.com/upserted' }),
  'links.updateMany': () => dub.links.updateMany({ externalIds: ['one'], data: { archived: true } }),
  'tags.delete': async () => {
    await dub.tags.delete(ids.tag);
    expect(await dub.links.get({ externalId: 'ext_one' })).toMatchObject({ tags: [], tagId: null });
  },
  'folders.delete': async () => {
    await dub.folders.delete(ids.folder);
    expect(await dub.links.get({ externalId: 'ext_one' })).toMatchObject({ folderId: null });
  },
  'links.delete': () => dub.links.delete('ext_one'),
  'links.deleteMany': async () => {
    const { id } = await dub.links.get({ domain, key: 'two' });
    expect(await dub.links.deleteMany({ linkIds: [id] })).toEqual({ deletedCount: 1 });
  },
  'domains.create': () => dub.domains.create({ slug: 'two.acme.example' }),
  'domains.list': async () => expect((await dub.domains.list()).result).toHaveLength(2),
  'domains.update': () => dub.domains.update('two.acme.example', { slug: 'three.acme.example' }),
  'domains.delete': () => dub.domains.delete('three.acme.example'),
  'track.lead': () => dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId: 'user_1' }),
  'track.sale': async () => {
    const { sale } = await dub.track.sale({ customerExternalId: 'user_1', amount: 1000, invoiceId: 'inv_1' });
    expect(sale).toMatchObject({ amount: 1000 });
  },
  'analytics.retrieve': async () => expect(await dub.analytics.retrieve()).toMatchObject({ clicks: 1 }),
  'events.list': async () => expect(await dub.events.list({ event: 'clicks' })).toHaveLength(1),
  'customers.list': async () => {
    ids.customer = (await api.catalog.customers.create(workspaceId, { externalId: 'user_2', country: 'FR' })).id;
    expect((await dub.customers.list({ externalId: 'user_2' })).result).toMatchObject([{ id: ids.customer }]);
  },
  'customers.get': () => dub.customers.get({ id: 'ext_user_2', includeExpandedFields: true }),
  'customers.update': () => dub.customers.update({ id: ids.customer, requestBody: { name: 'Ada' } }),
  'customers.delete': () => dub.customers.delete(ids.customer),
  'partners.create': async () => {
    const partner = await dub.partners.create({ email: 'ada@example.com', name: 'Ada', tenantId: 'ada' });
    ids.partner = partner.id;
    expect(partner.links).toMatchObject([{ key: 'ada' }]);
  },
  'partners.list': async () => expect(await dub.partners.list({ search: 'ada' })).toHaveLength(1),
  'partners.createLink': () => dub.partners.createLink({ tenantId: 'ada', url: 'https://acme.com/ada' }),
  'partners.retrieveLinks': async () =>
    expect(await dub.partners.retrieveLinks({ partnerId: ids.partner })).toHaveLength(2),
  'partners.upsertLink': () => dub.partners.upsertLink({ tenantId: 'ada', url: 'https://acme.com/ada' }),
  'partners.analytics': async () => {
    expect(await dub.partners.analytics({ tenantId: 'ada' })).toMatchObject({ clicks: 0, earnings: 0 });
    expect(await dub.partners.analytics({ tenantId: 'ada', groupBy: 'top_links' })).toHaveLength(2);
  },
  'partners.deactivate': () => dub.partners.deactivate({ tenantId: 'ada' }),
  'partners.ban': () => dub.partners.ban({ partnerId: ids.partner, reason: 'spam' }),
  'partnerApplications.list': async () => expect(await dub.partnerApplications.list()).toHaveLength(2),
  'partnerApplications.approve': () => dub.partnerApplications.approve({ partnerId: ids.applicant }),
  'partnerApplications.reject': () => dub.partnerApplications.reject({ partnerId: ids.other }),
  'qrCodes.get': async () => expect(await dub.qrCodes.get({ url })).toContain('PNG'),
};

const NOT_FOUND: Readonly<Record<string, () => Promise<unknown>>> = {
  'commissions.list': () => dub.commissions.list(),
  'commissions.create': () => dub.commissions.create({ type: 'custom', partnerId: 'pn_1', amount: 100 }),
  'commissions.update': () => dub.commissions.update({ id: 'cm_1', requestBody: { status: 'pending' } }),
  'commissions.updateMany': () => dub.commissions.updateMany({ commissionIds: ['cm_1'], status: 'pending' }),
  'payouts.list': () => dub.payouts.list(),
  'discountCodes.list': () => dub.discountCodes.list(),
  'discountCodes.create': () => dub.discountCodes.create({ partnerId: 'pn_1', linkId: 'link_1' }),
  'discountCodes.delete': () => dub.discountCodes.delete('SAVE'),
  'embedTokens.referrals': () => dub.embedTokens.referrals({ partnerId: 'pn_1' }),
  'bounties.listSubmissions': () => dub.bounties.listSubmissions({ bountyId: 'b' }),
  'bounties.approveSubmission': () => dub.bounties.approveSubmission({ bountyId: 'b', submissionId: 's' }),
  'bounties.rejectSubmission': () => dub.bounties.rejectSubmission({ bountyId: 'b', submissionId: 's' }),
};

const FORBIDDEN: Readonly<Record<string, () => Promise<unknown>>> = {
  'domains.register': () => dub.domains.register({ domain: 'acme.link' }),
  'domains.checkStatus': () => dub.domains.checkStatus({ domains: ['acme.link'] }),
};

it('covers all 56 methods of the SDK', () => {
  const known = [WORKS, NOT_FOUND, FORBIDDEN].flatMap((table) => Object.keys(table));
  expect(known.sort()).toEqual(methodsOf(dub).sort());
  expect(known).toHaveLength(56);
});

it.each(Object.entries(WORKS))('%s works', async (_method, call) => {
  await call();
});

it.each(Object.entries(NOT_FOUND))('%s throws the typed error NotFound', async (_method, call) => {
  await expect(call()).rejects.toBeInstanceOf(errors.NotFound);
});

it.each(Object.entries(FORBIDDEN))('%s throws the typed error Forbidden', async (_method, call) => {
  await expect(call()).rejects.toBeInstanceOf(errors.Forbidden);
});

it('every other error status of the SDK has a typed error as well', async () => {
  const stranger = new Dub({ token: 'dub_nonsense', serverURL: api.url });
  await expect(stranger.tags.list()).rejects.toBeInstanceOf(errors.Unauthorized);
  await dub.tags.create({ name: 'twice' });
  await expect(dub.tags.create({ name: 'TWICE' })).rejects.toBeInstanceOf(errors.Conflict);
  await expect(dub.tags.create({ name: ' ' })).rejects.toBeInstanceOf(errors.UnprocessableEntity);
  await expect(dub.tags.create({})).rejects.toBeInstanceOf(errors.BadRequest);
  await api.catalog.workspaces.update(workspaceId, { requestsPerMinute: 1 });
  const many = Array.from({ length: 3 }, () => dub.tags.list());
  const refused = (await Promise.allSettled(many)).find(({ status }) => status === 'rejected');
  expect(refused).toMatchObject({ reason: expect.any(errors.RateLimitExceeded) });
});
