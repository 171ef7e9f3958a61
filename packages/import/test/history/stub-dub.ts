import { type StubAnswer, type StubRequest, type StubServer, startStub } from '../apis/stub-server.js';

export type DubEvent = Readonly<Record<string, unknown>> & { readonly timestamp: string };

/** What a stub of dub's API has. Each list may be changed between requests. */
export interface DubAccount {
  readonly links: Record<string, unknown>[];
  readonly clicks: DubEvent[];
  readonly leads: DubEvent[];
  readonly sales: DubEvent[];
  readonly customers: Record<string, unknown>[];
}

export const emptyAccount = (): DubAccount => ({ links: [], clicks: [], leads: [], sales: [], customers: [] });

/** A click id as the source makes them: sixteen characters, most of which look like an id of ours. */
export const dubClickId = (n: number) => `${'xK9dQ2mVbT7w'.slice(0, 16 - String(n).length)}${n}`.padEnd(16, 'Z');

export const aDubLink = (key: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  ...{ id: `link_${key}`, domain: 'old.test', key, url: `https://a.test/${key}`, trackConversion: true },
  ...fields,
});

/** A click with every documented field. */
export function aDubClick(n: number, timestamp: string, fields: Readonly<Record<string, unknown>> = {}): DubEvent {
  const { key = 'try', ...own } = fields;
  const attributes = {
    ...{ url: 'https://a.test/try?utm_source=news', continent: 'NA', country: 'US', city: 'Austin' },
    ...{ device: 'Mobile', browser: 'Chrome', os: 'iOS', ip: '203.0.113.7', ...own },
  };
  const link = aDubLink(String(key));
  return {
    ...{ event: 'click', timestamp },
    click: {
      ...{ id: dubClickId(n), timestamp, ...attributes, region: 'US-TX', ua: 'Mozilla/5.0 (iPhone)' },
      ...{ trigger: 'qr', referer: 'news.test', refererUrl: 'https://news.test/a?b', qr: true },
    },
    link,
    ...{ click_id: dubClickId(n), link_id: link.id, domain: link.domain, key: link.key, ...attributes, qr: 1 },
  };
}

export const aDubCustomer = (n: number, fields: Readonly<Record<string, unknown>> = {}) => ({
  ...{ id: `cus_${String(n).padStart(6, '0')}`, externalId: `user-${n}`, name: `User ${n}`, email: `u${n}@b.test` },
  ...{ avatar: `https://b.test/${n}.png`, country: 'US', stripeCustomerId: null, sales: 1, saleAmount: 4900 },
  ...{ createdAt: '2023-02-01T00:00:00.000Z', firstSaleAt: null, subscriptionCanceledAt: null },
  ...fields,
});

export function aDubLead(
  n: number,
  timestamp: string,
  click: DubEvent,
  customer: object,
  fields: object = {},
): DubEvent {
  return {
    ...click,
    ...{ event: 'lead', timestamp, eventId: `lead${String(n).padStart(12, '0')}`, eventName: 'Sign up' },
    ...{ metadata: { plan: 'pro', seats: 3 }, customer, ...fields },
  };
}

export function aDubSale(
  n: number,
  timestamp: string,
  click: DubEvent,
  customer: object,
  fields: object = {},
): DubEvent {
  const sale = { amount: 4900, invoiceId: `in_${n}`, paymentProcessor: 'stripe' };
  return {
    ...click,
    ...{ event: 'sale', timestamp, eventId: `sale${String(n).padStart(12, '0')}`, eventName: 'Purchase', sale },
    ...{ metadata: null, customer, saleAmount: 4900, invoice_id: `in_${n}`, payment_processor: 'stripe', ...fields },
  };
}

function afterId(list: readonly Record<string, unknown>[], id: string | undefined, size: number) {
  const start = id === undefined ? 0 : list.findIndex((one) => one.id === id) + 1;
  return list.slice(start, start + size);
}

/** The API of an account. @param before may answer in place of it, or change the account */
export function startDub(
  account: DubAccount,
  before: (request: StubRequest, number: number) => StubAnswer | undefined = () => undefined,
): Promise<StubServer> {
  return startStub((request, number) => {
    const early = before(request, number);
    if (early !== undefined) return early;
    const { path, query } = request;
    if (path === '/links') return { json: afterId(account.links, query.startingAfter, 100) };
    if (path === '/customers') return { json: afterId(account.customers, query.startingAfter, Number(query.pageSize)) };
    if (path !== '/events') return { json: [] };
    const { event = '', start = '', end = '', limit = '100', page = '1' } = query;
    const events = (account as unknown as Record<string, DubEvent[]>)[event] ?? [];
    const sorted = events
      .filter(({ timestamp }) => timestamp >= start && timestamp <= end)
      .toSorted((one, other) => (one.timestamp < other.timestamp ? -1 : one.timestamp > other.timestamp ? 1 : 0));
    const from = (Number(page) - 1) * Number(limit);
    return { json: sorted.slice(from, from + Number(limit)) };
  });
}
