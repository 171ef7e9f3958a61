import { createEventId } from '@waymark/contract';
import {
  type ClickFields,
  clickRow,
  type EventRow,
  type LeadFields,
  leadRow,
  type SaleFields,
  saleRow,
} from '@waymark/event-format';

/** Default time of a built event: 2026-11-02T10:30:00.000Z, a Monday. */
export const BUILDER_TIME_MS = Date.UTC(2026, 10, 2, 10, 30);

/** The row of a click: workspace 1, link 2, a visitor in Paris. Its id contains its time. */
export function aClick(fields: Partial<ClickFields> = {}): EventRow {
  const timestampMs = fields.timestampMs ?? BUILDER_TIME_MS;
  return clickRow({
    workspaceId: '1',
    linkId: '2',
    clickId: createEventId(timestampMs),
    timestampMs,
    trigger: 'link',
    url: 'https://acme.com/try',
    country: 'FR',
    region: 'IDF',
    city: 'Paris',
    continent: 'EU',
    device: 'Desktop',
    browser: 'Firefox',
    os: 'Windows',
    userAgent: 'Mozilla/5.0',
    referer: '(direct)',
    refererUrl: '(direct)',
    ip: '',
    ...fields,
  });
}

function leadFieldsOf(fields: Partial<LeadFields>, eventName: string): LeadFields {
  const timestampMs = fields.timestampMs ?? BUILDER_TIME_MS + 60_000;
  return {
    eventId: createEventId(timestampMs),
    eventName,
    timestampMs,
    customerId: '3',
    metadata: null,
    ...fields,
  };
}

/** The row of a lead from `click` (by default {@link aClick}): customer 3, a minute after the default time of a click. */
export function aLead({
  click = aClick(),
  ...fields
}: Partial<LeadFields> & { readonly click?: EventRow } = {}): EventRow {
  return leadRow(click, leadFieldsOf(fields, 'Sign up'));
}

/** The row of a sale from `click` (by default {@link aClick}): customer 3, a first sale of 29 dollars. */
export function aSale({
  click = aClick(),
  ...fields
}: Partial<SaleFields> & { readonly click?: EventRow } = {}): EventRow {
  return saleRow(click, {
    amount: 2900,
    currency: 'usd',
    invoiceId: null,
    paymentProcessor: 'custom',
    saleType: 'new',
    ...fields,
    ...leadFieldsOf(fields, 'Purchase'),
  });
}
