import type { Dub } from 'dub';

const url = 'https://acme.com';
const id = 'none';

/** A call of each method of the SDK that works here and whose response is JSON. The requests are as small as their types allow. */
export const CALLS: Readonly<Record<string, (dub: Dub) => Promise<unknown>>> = {
  'links.create': (dub) => dub.links.create({ url }),
  'links.createMany': (dub) => dub.links.createMany([{ url }]),
  'links.list': (dub) => dub.links.list(),
  'links.count': (dub) => dub.links.count(),
  'links.get': (dub) => dub.links.get({ linkId: id }),
  'links.update': (dub) => dub.links.update(id, {}),
  'links.updateMany': (dub) => dub.links.updateMany({ linkIds: [id], data: {} }),
  'links.upsert': (dub) => dub.links.upsert({ url }),
  'links.delete': (dub) => dub.links.delete(id),
  'links.deleteMany': (dub) => dub.links.deleteMany({ linkIds: [id] }),
  'tags.create': (dub) => dub.tags.create({ name: id }),
  'tags.list': (dub) => dub.tags.list(),
  'tags.update': (dub) => dub.tags.update(id, {}),
  'tags.delete': (dub) => dub.tags.delete(id),
  'folders.create': (dub) => dub.folders.create({ name: id }),
  'folders.list': (dub) => dub.folders.list(),
  'folders.update': (dub) => dub.folders.update(id, {}),
  'folders.delete': (dub) => dub.folders.delete(id),
  'domains.create': (dub) => dub.domains.create({ slug: id }),
  'domains.list': (dub) => dub.domains.list(),
  'domains.update': (dub) => dub.domains.update(id, {}),
  'domains.delete': (dub) => dub.domains.delete(id),
  'track.lead': (dub) => dub.track.lead({ clickId: '', eventName: id, customerExternalId: id }),
  'track.sale': (dub) => dub.track.sale({ customerExternalId: id, amount: 1 }),
  'analytics.retrieve': (dub) => dub.analytics.retrieve(),
  'events.list': (dub) => dub.events.list(),
  'customers.list': (dub) => dub.customers.list(),
  'customers.get': (dub) => dub.customers.get({ id }),
  'customers.update': (dub) => dub.customers.update({ id }),
  'customers.delete': (dub) => dub.customers.delete(id),
  'partners.create': (dub) => dub.partners.create({ email: 'a@example.com' }),
  'partners.list': (dub) => dub.partners.list(),
  'partners.createLink': (dub) => dub.partners.createLink({}),
  'partners.retrieveLinks': (dub) => dub.partners.retrieveLinks({ partnerId: id }),
  'partners.upsertLink': (dub) => dub.partners.upsertLink({ url }),
  'partners.analytics': (dub) => dub.partners.analytics({ partnerId: id }),
  'partners.ban': (dub) => dub.partners.ban({ reason: 'spam' }),
  'partners.deactivate': (dub) => dub.partners.deactivate({}),
  'partnerApplications.list': (dub) => dub.partnerApplications.list(),
  'partnerApplications.approve': (dub) => dub.partnerApplications.approve({ partnerId: id }),
  'partnerApplications.reject': (dub) => dub.partnerApplications.reject({ partnerId: id }),
};

/** The methods that are not in {@link CALLS}: what they stand for does not exist here, or their response is an image. */
export const NOT_CALLED: readonly string[] = [
  ...['list', 'create', 'update', 'updateMany'].map((name) => `commissions.${name}`),
  'payouts.list',
  ...['list', 'create', 'delete'].map((name) => `discountCodes.${name}`),
  'embedTokens.referrals',
  ...['listSubmissions', 'approveSubmission', 'rejectSubmission'].map((name) => `bounties.${name}`),
  ...['register', 'checkStatus'].map((name) => `domains.${name}`),
  'qrCodes.get',
];
