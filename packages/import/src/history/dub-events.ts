import { PAYMENT_PROCESSORS, type PaymentProcessor, TRIGGERS, type Trigger } from '@waymark/contract';
import { type Fields, fieldsOf, isObject } from '../model/fields.js';
import { parseValue } from '../model/parse-value.js';
import { RowError } from '../model/source-link.js';
import { isoOfDateText, timeOf } from '../model/times.js';
import type { PastAddress, PastClick, PastCustomer, PastEvent } from './past-event.js';

function timeMsOf(fields: Fields, name: string): number | null {
  const time = fields.time(name);
  return time === null ? null : Date.parse(time);
}

const SECOND_MS = 1000;

/**
 * The time of an event, epoch milliseconds. dub sends the event's time as text without milliseconds. The click object has the same time
 * with milliseconds, which are added.
 *
 * @returns null without one; @throws RowError for what is no time
 */
function eventTimeOf(event: unknown, click: unknown): number | null {
  const iso = isoOfDateText(event);
  const time = timeOf('timestamp', iso);
  if (time === null) return null;
  const timeMs = Date.parse(time);
  if (iso === event || !isObject(click)) return timeMs;
  const clickedMs = Date.parse(timeOf('timestamp', click.timestamp) ?? '');
  return Math.floor(clickedMs / SECOND_MS) * SECOND_MS === timeMs ? clickedMs : timeMs;
}

/** The time of an item of `GET /events`, epoch milliseconds; undefined if the item has no readable time. */
export function dubEventTime(record: unknown): number | undefined {
  try {
    return isObject(record) ? (eventTimeOf(record.timestamp, record.click) ?? undefined) : undefined;
  } catch (err) {
    if (err instanceof RowError) return undefined;
    throw err;
  }
}

function required<T>(field: string, value: T | null): T {
  if (value === null) throw new RowError(`${field} is missing`);
  return value;
}

/** The address of a link object; null when it is no object or has no key. */
function addressOf(link: unknown): PastAddress | null {
  if (!isObject(link)) return null;
  const fields = fieldsOf(link);
  const key = fields.text('key');
  return key === null ? null : { domain: fields.text('domain'), key };
}

function triggerOf(click: Fields): Trigger {
  const name = click.text('trigger');
  const trigger = TRIGGERS.find((known) => known === name);
  if (trigger !== undefined) return trigger;
  // Before dub had `trigger`, it had only the flag `qr`.
  return click.flag('qr') ? 'qr' : 'link';
}

/** @param eventMs time of the event, epoch milliseconds; used if the click has no time, and as its upper limit */
function clickOf(value: unknown, link: unknown, eventMs: number): PastClick {
  const click = fieldsOf(value ?? {});
  const id = click.required('id');
  const timeMs = timeMsOf(click, 'timestamp') ?? eventMs;
  const referrer = click.text('refererUrl') ?? click.text('referer');
  return {
    address: required('link', addressOf(link)),
    timeMs: Math.min(timeMs, eventMs),
    identity: id,
    alias: id,
    url: click.text('url'),
    place: {
      country: click.text('country') ?? undefined,
      region: click.text('region') ?? undefined,
      city: click.text('city') ?? undefined,
      continent: click.text('continent') ?? undefined,
    },
    device: click.text('device'),
    browser: click.text('browser'),
    os: click.text('os'),
    userAgent: click.text('ua') ?? '',
    referrer: referrer === '(direct)' ? null : referrer,
    trigger: triggerOf(click),
  };
}

const NOBODY = { name: null, email: null, avatar: null, stripeCustomerId: null, country: null } as const;

/**
 * Whether this is the placeholder that dub sends for a deleted customer: `createdAt` is 1970, or, without `createdAt`, name and email are the
 * placeholder's.
 */
function isDeleted(customer: Fields): boolean {
  const createdAt = customer.text('createdAt');
  if (createdAt !== null) return Date.parse(createdAt) === 0;
  return customer.text('name') === 'Deleted Customer' && customer.text('email') === 'deleted@customer.com';
}

/** Reads a customer object, of an event or of `GET /customers`. */
function customerOf(value: unknown): PastCustomer {
  const customer = fieldsOf(value);
  if (isDeleted(customer)) {
    const externalId = customer.text('externalId') ?? customer.required('id');
    return { externalId, ...NOBODY, createdAt: null, address: null };
  }
  return {
    // A customer without an external id gets the id that it has at dub.
    externalId: customer.text('externalId') ?? customer.required('id'),
    name: customer.text('name'),
    email: customer.text('email'),
    avatar: customer.text('avatar'),
    stripeCustomerId: customer.text('stripeCustomerId'),
    country: customer.text('country'),
    createdAt: customer.time('createdAt'),
    address: addressOf(customer.take('link')),
  };
}

/** Metadata: an object, or its JSON text. */
function metadataOf(value: unknown): Readonly<Record<string, unknown>> | null {
  if (value === null || value === undefined || value === '') return null;
  let metadata: unknown = value;
  if (typeof metadata === 'string') {
    try {
      metadata = parseValue('metadata', metadata);
    } catch (err) {
      if (err instanceof RowError) throw err;
      throw new RowError('metadata must be an object');
    }
  }
  if (metadata === null) return null;
  if (!isObject(metadata)) throw new RowError('metadata must be an object');
  return metadata;
}

function processorOf(name: string | null): PaymentProcessor {
  return PAYMENT_PROCESSORS.find((known) => known === name) ?? 'custom';
}

function saleOf(fields: Fields) {
  const sale = fieldsOf(fields.take('sale') ?? {});
  const amount = sale.count('amount') ?? fields.count('saleAmount');
  if (amount === null) throw new RowError('sale.amount is missing');
  return {
    amount,
    currency: (sale.text('currency') ?? 'usd').toLowerCase(),
    invoiceId: sale.text('invoiceId') ?? fields.text('invoice_id'),
    paymentProcessor: processorOf(sale.text('paymentProcessor') ?? fields.text('payment_processor')),
  };
}

/** Reads an item of dub's `GET /events`. @throws RowError for one that cannot become an event */
export function dubEvent(record: unknown): PastEvent {
  const fields = fieldsOf(record);
  const kind = fields.required('event');
  const source = fields.take('click');
  const timeMs = required('timestamp', eventTimeOf(fields.take('timestamp'), source));
  const click = clickOf(source, fields.take('link'), timeMs);
  if (kind === 'click') return { kind, ...click, timeMs };
  const conversion = {
    timeMs,
    identity: fields.required('eventId'),
    eventName: fields.required('eventName'),
    metadata: metadataOf(fields.take('metadata')),
    click,
    customer: customerOf(fields.take('customer')),
  };
  if (kind === 'lead') return { kind, ...conversion };
  if (kind === 'sale') return { kind, ...conversion, ...saleOf(fields) };
  throw new RowError(`event "${kind.slice(0, 40)}" must be click, lead or sale`);
}

/** Reads an item of dub's `GET /customers`. @throws RowError for one that cannot become a customer */
export function dubCustomer(record: unknown): PastEvent {
  return { kind: 'customer', ...customerOf(record) };
}
