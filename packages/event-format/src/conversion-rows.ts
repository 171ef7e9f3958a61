import type { PaymentProcessor } from '@waymark/contract';
import { CLICK_COLUMNS, type EventRow, type RowValue } from './columns.js';
import { metadataPairs } from './metadata-pairs.js';
import { PAYLOAD_HEAD } from './payload.js';

/** The fields of a lead that do not come from its click. */
export interface LeadFields {
  readonly eventId: string;
  readonly eventName: string;
  /** Epoch milliseconds; must be the time in `eventId`. */
  readonly timestampMs: number;
  /** `UInt64` as decimal text. */
  readonly customerId: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

const ATTRIBUTES_START = CLICK_COLUMNS.indexOf('trigger');
const ATTRIBUTES_END = CLICK_COLUMNS.indexOf('payload');
const CLICK_PAYLOAD = ATTRIBUTES_END;
const CLICK_IP = ATTRIBUTES_END + 1;

function text(row: EventRow, position: number): string {
  const value = row[position];
  if (typeof value !== 'string') throw new TypeError(`click row has no text at position ${position}`);
  return value;
}

function conversionRow(click: EventRow, fields: LeadFields, sale: string): RowValue[] {
  const clickMembers = text(click, CLICK_PAYLOAD).slice(PAYLOAD_HEAD.length);
  return [
    text(click, 0),
    fields.timestampMs,
    fields.eventId,
    fields.eventName,
    fields.customerId,
    text(click, 3),
    text(click, 2),
    click[1] ?? 0,
    ...click.slice(ATTRIBUTES_START, ATTRIBUTES_END),
    metadataPairs(fields.metadata),
    `${PAYLOAD_HEAD}${sale}"metadata":${JSON.stringify(fields.metadata)},${clickMembers}`,
    text(click, CLICK_IP),
  ];
}

/** Builds the row of a lead, version 1. Copies all attributes of `click`, a click row of version 1. */
export function leadRow(click: EventRow, fields: LeadFields): EventRow {
  return conversionRow(click, fields, '');
}

/** The fields of a sale that do not come from its click. */
export interface SaleFields extends LeadFields {
  /** Minor units of `currency`: cents for `usd`. */
  readonly amount: number;
  readonly currency: string;
  readonly invoiceId: string | null;
  readonly paymentProcessor: PaymentProcessor;
  readonly saleType: 'new' | 'recurring';
}

/** Builds the row of a sale, version 1. Copies all attributes of `click`, a click row of version 1. */
export function saleRow(click: EventRow, fields: SaleFields): EventRow {
  const sale = JSON.stringify({
    amount: fields.amount,
    invoiceId: fields.invoiceId,
    paymentProcessor: fields.paymentProcessor,
    currency: fields.currency,
  });
  const row = conversionRow(click, fields, `"sale":${sale},`);
  row.push(fields.invoiceId ?? '', fields.amount, fields.saleType);
  return row;
}
