import type { EventKind, Link } from '@waymark/contract';
import { type PayloadParts, type SaleParts, splitPayload } from '@waymark/event-format';

/** A row of a page of events, in the column order of the query. Only leads and sales have event name and customer. */
export type EventPageRow = readonly [
  id: string,
  timestamp: string,
  linkNumber: string,
  payload: string,
  ip: string,
  eventName?: string,
  customerNumber?: string,
];

/** JSON texts made from a link, which are the same for all of its events. */
export interface LinkTexts {
  readonly link: string;
  /** The deprecated fields of an event that repeat fields of its link, without braces: `"link_id":…,"domain":…,"key":…` */
  readonly deprecated: string;
}

/** Serialises a link once, for all of its events. */
export function linkTexts(link: Link): LinkTexts {
  const deprecated = JSON.stringify({ link_id: link.id, domain: link.domain, key: link.key });
  return { link: JSON.stringify(link), deprecated: deprecated.slice(1, -1) };
}

/** The deprecated fields of every event, without braces. They repeat fields of its click and link at the top level. */
function deprecatedText({ clickId, attributes, isQr }: PayloadParts, link: LinkTexts, ip: string): string {
  return `"click_id":"${clickId}",${link.deprecated},${attributes},"qr":${isQr ? 1 : 0},"ip":${ip}`;
}

/** The deprecated fields that only sales have, with a comma at the end. */
function deprecatedSaleText({ amount, invoiceId, paymentProcessor }: SaleParts): string {
  const invoice = invoiceId === 'null' ? '""' : invoiceId;
  return `"saleAmount":${amount},"invoice_id":${invoice},"payment_processor":${paymentProcessor},`;
}

/**
 * One item of `GET /events` as JSON text, concatenated from parts that are already JSON.
 *
 * @param customer JSON of the customer object; empty for clicks
 */
export function eventText(kind: EventKind, row: EventPageRow, link: LinkTexts, customer: string): string {
  const [id, timestamp, , payload, ipText, eventName = ''] = row;
  const parts = splitPayload(payload);
  const ip = JSON.stringify(ipText);
  const click = `"click":${parts.click},"ip":${ip}},"link":${link.link}`;
  const deprecated = deprecatedText(parts, link, ip);
  if (kind === 'clicks') return `{"event":"click","timestamp":"${timestamp}",${click},${deprecated}}`;

  const head = `"timestamp":"${timestamp}","eventId":"${id}","eventName":${JSON.stringify(eventName)}`;
  const tail = `"metadata":${parts.metadata ?? 'null'},${click},"customer":${customer}`;
  if (parts.sale === undefined) return `{"event":"lead",${head},${tail},${deprecated}}`;
  return `{"event":"sale",${head},${parts.sale.sale},${tail},${deprecatedSaleText(parts.sale)}${deprecated}}`;
}
