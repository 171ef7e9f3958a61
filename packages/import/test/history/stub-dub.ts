import { type StubAnswer, type StubRequest, type StubServer, startStub } from '../apis/stub-server.js';

export type DubEvent = Readonly<Record<string, unknown>> & { readonly timestamp: string };

/** What a stub of dub's API has. Each list may be changed between requests. */
export interface DubAccount {
  readonly links: Record<string, unknown>[];
  /** Times are ISO 8601; the API answers them in another form. */
  readonly clicks: DubEvent[];
  readonly leads: DubEvent[];
  readonly sales: DubEvent[];
  readonly customers: Record<string, unknown>[];
  readonly folders: { readonly id: string; readonly name: string }[];
  /** Keys of links that were deleted, but whose events are still stored. */
  readonly deletedKeys: Set<string>;
  /** Ids of folders that the key may not read. A folder of {@link folders} is listed all the same. */
  readonly closedFolders: Set<string>;
}

export const emptyAccount = (): DubAccount => ({
  ...{ links: [], clicks: [], leads: [], sales: [], customers: [], folders: [] },
  ...{ deletedKeys: new Set(), closedFolders: new Set() },
});

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

/** The customer of an event whose customer was deleted. */
export const aDeletedCustomer = (id: string) => ({
  ...{ id, externalId: id, name: 'Deleted Customer', email: 'deleted@customer.com' },
  createdAt: '1970-01-01T00:00:00.000Z',
});

type Fields = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string>>;

const byText = (name: string) => (one: Fields, other: Fields) =>
  String(one[name]) < String(other[name]) ? -1 : Number(String(one[name]) > String(other[name]));

/** A page by number is in the order of creation, a page by cursor in the order of the ids. */
function pageOf(list: readonly Fields[], { startingAfter, endingBefore, page = '1', pageSize = '100' }: Query) {
  const size = Number(pageSize);
  const byId = list.toSorted(byText('id'));
  const cursor = startingAfter ?? endingBefore;
  if (cursor === undefined) {
    const from = (Number(page) - 1) * size;
    return { json: byId.toSorted(byText('createdAt')).slice(from, from + size) };
  }
  const at = byId.findIndex(({ id }) => id === cursor);
  if (at < 0) return { status: 422, json: { error: { message: `Invalid cursor ${cursor}` } } };
  return {
    json: startingAfter === undefined ? byId.slice(Math.max(0, at - size), at) : byId.slice(at + 1, at + 1 + size),
  };
}

/** A time as `String(new Date())` writes it in UTC. */
function dateText(iso: string): string {
  const [weekday = '', day, month, year, time] = new Date(iso).toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${day} ${year} ${time} GMT+0000 (Coordinated Universal Time)`;
}

/** The time of the event is in milliseconds in its click only. */
const answered = (event: DubEvent) =>
  Number.isNaN(Date.parse(event.timestamp))
    ? event
    : {
        ...{ ...event, timestamp: dateText(event.timestamp) },
        click: {
          ...(event.click as object),
          ...(Object.keys(event.click as object).length > 0 && { timestamp: event.timestamp }),
        },
      };

/** The stored events of a period of whole days, those of deleted links included. */
function eventsOf(account: DubAccount, { event = '', start = '', end = '' }: Query): DubEvent[] {
  const events = (account as unknown as Record<string, DubEvent[]>)[event] ?? [];
  const [from, to] = [`${start.slice(0, 10)}T00:00:00.000Z`, `${end.slice(0, 10)}T23:59:59.999Z`];
  return events.filter(({ timestamp }) => timestamp >= from && timestamp <= to).toSorted(byText('timestamp'));
}

/** What the API of an account answers, as that of dub does. */
export function dubAnswer(account: DubAccount, path: string, query: Query): StubAnswer {
  const folderOf = ({ folderId }: Fields) => folderId ?? null;
  if (path === '/links/count') {
    const folders = [...new Set(account.links.map(folderOf))];
    const linksIn = (folderId: unknown) => account.links.filter((link) => folderOf(link) === folderId);
    return { json: folders.map((folderId) => ({ folderId, _count: linksIn(folderId).length })) };
  }
  if (path === '/links') {
    if (account.closedFolders.has(query.folderId ?? '')) {
      return {
        status: 403,
        json: { error: { message: 'You are not allowed to perform this action on this folder.' } },
      };
    }
    return pageOf(
      account.links.filter((link) => folderOf(link) === (query.folderId ?? null)),
      query,
    );
  }
  if (path === '/customers') return pageOf(account.customers, query);
  if (path === '/folders') return pageOf(account.folders, query);
  if (path !== '/events' && path !== '/analytics') return { json: [] };
  if ((query.start ?? '') < '2022-09-22') {
    return { status: 422, json: { error: { message: 'The start date cannot be earlier than September 22, 2022.' } } };
  }
  const events = eventsOf(account, query);
  if (path === '/analytics') return { json: { [query.event ?? '']: events.length } };
  const { limit = '100', page = '1' } = query;
  const from = (Number(page) - 1) * Number(limit);
  const listed = events.slice(from, from + Number(limit)).filter(({ key }) => !account.deletedKeys.has(String(key)));
  return { json: listed.map(answered) };
}

/** The API of an account, which behaves as that of dub does. @param before may answer in place of it, or change the account */
export function startDub(
  account: DubAccount,
  before: (request: StubRequest, number: number) => StubAnswer | undefined = () => undefined,
): Promise<StubServer> {
  return startStub((request, number) => before(request, number) ?? dubAnswer(account, request.path, request.query));
}
