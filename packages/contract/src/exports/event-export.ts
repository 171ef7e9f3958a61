import type { z } from 'zod';
import { type EventKind, eventFilterShape, eventListShape } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { exportShape } from './export-parameters.js';

const CLICK_DEFAULTS = [
  'timestamp',
  'trigger',
  'link',
  'url',
  'country',
  'city',
  'region',
  'continent',
  'device',
  'browser',
  'os',
  'referer',
  'refererUrl',
  'clickId',
  'ip',
] as const;
const LEAD_DEFAULTS = [
  ...CLICK_DEFAULTS,
  'event',
  'customer',
  'customerName',
  'customerExternalId',
  'eventId',
  'metadata',
] as const;
const SALE_DEFAULTS = [...LEAD_DEFAULTS, 'saleAmount', 'invoiceId'] as const;

const CLICK_EXTRAS = [
  'linkId',
  'domain',
  'key',
  'externalId',
  'tenantId',
  'partnerId',
  'programId',
  'folderId',
  'tags',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  'ua',
  'qr',
  'clickTimestamp',
] as const;
const LEAD_EXTRAS = [...CLICK_EXTRAS, 'customerId', 'customerEmail', 'customerCountry', 'customerCreatedAt'] as const;
const SALE_EXTRAS = [...LEAD_EXTRAS, 'currency', 'paymentProcessor'] as const;

/** A column of an exported file of events. */
export type EventColumn = (typeof SALE_DEFAULTS | typeof SALE_EXTRAS)[number];

/** For each kind of event, the columns that a file has by default, in this order, and those that it has only on request. */
export const EVENT_COLUMNS: Readonly<
  Record<EventKind, { readonly defaults: readonly EventColumn[]; readonly extras: readonly EventColumn[] }>
> = {
  clicks: { defaults: CLICK_DEFAULTS, extras: CLICK_EXTRAS },
  leads: { defaults: LEAD_DEFAULTS, extras: LEAD_EXTRAS },
  sales: { defaults: SALE_DEFAULTS, extras: SALE_EXTRAS },
};

/** Query of `GET /events/export`: that of `GET /events` without pages. */
export const exportEventsQuerySchema = closedQuery({
  ...eventListShape,
  ...eventFilterShape,
  ...exportShape([...SALE_DEFAULTS, ...SALE_EXTRAS]),
});
export type ExportEventsQuery = z.infer<typeof exportEventsQuerySchema>;
