import type { EventColumn, ListedEvent } from '@waymark/contract';
import type { Column, ColumnType } from '@waymark/export';

/** Any kind of event: clicks have no customer, and only sales have a sale. */
export type AnyEvent = Pick<ListedEvent, 'timestamp' | 'click' | 'link'> &
  Partial<Omit<Extract<ListedEvent, { event: 'sale' }>, 'event' | 'timestamp' | 'click' | 'link'>>;

function column(type: ColumnType, read: (event: AnyEvent) => unknown): Column<AnyEvent> {
  return { type, read };
}
const ofClick = (field: keyof AnyEvent['click'], type: ColumnType = 'text') =>
  column(type, ({ click }) => click[field]);
const ofLink = (field: keyof AnyEvent['link']) => column('text', ({ link }) => link[field]);
const ofCustomer = (field: keyof NonNullable<AnyEvent['customer']>, type: ColumnType = 'text') =>
  column(type, ({ customer }) => customer?.[field]);

/** How each column of a file of events is read from an object of `GET /events`. */
export const EVENT_COLUMN_SOURCES: Readonly<Record<EventColumn, Column<AnyEvent>>> = {
  timestamp: column('time', ({ timestamp }) => timestamp),
  trigger: ofClick('trigger'),
  link: ofLink('shortLink'),
  url: ofClick('url'),
  country: ofClick('country'),
  city: ofClick('city'),
  region: ofClick('region'),
  continent: ofClick('continent'),
  device: ofClick('device'),
  browser: ofClick('browser'),
  os: ofClick('os'),
  referer: ofClick('referer'),
  refererUrl: ofClick('refererUrl'),
  clickId: ofClick('id'),
  ip: ofClick('ip'),
  ua: ofClick('ua'),
  qr: ofClick('qr', 'flag'),
  clickTimestamp: ofClick('timestamp', 'time'),
  linkId: ofLink('id'),
  domain: ofLink('domain'),
  key: ofLink('key'),
  externalId: ofLink('externalId'),
  tenantId: ofLink('tenantId'),
  partnerId: ofLink('partnerId'),
  programId: ofLink('programId'),
  folderId: ofLink('folderId'),
  tags: column('texts', ({ link }) => link.tags.map(({ name }) => name)),
  utm_source: ofLink('utm_source'),
  utm_medium: ofLink('utm_medium'),
  utm_campaign: ofLink('utm_campaign'),
  utm_term: ofLink('utm_term'),
  utm_content: ofLink('utm_content'),
  event: column('text', ({ eventName }) => eventName),
  eventId: column('text', ({ eventId }) => eventId),
  customer: column('text', ({ customer }) => customer?.name ?? customer?.email ?? customer?.externalId),
  customerId: ofCustomer('id'),
  customerName: ofCustomer('name'),
  customerEmail: ofCustomer('email'),
  customerExternalId: ofCustomer('externalId'),
  customerCountry: ofCustomer('country'),
  customerCreatedAt: ofCustomer('createdAt', 'time'),
  metadata: column('json', ({ metadata }) => metadata),
  saleAmount: column('integer', ({ sale }) => sale?.amount),
  invoiceId: column('text', ({ sale }) => sale?.invoiceId),
  currency: column('text', ({ sale }) => sale?.currency),
  paymentProcessor: column('text', ({ sale }) => sale?.paymentProcessor),
};
