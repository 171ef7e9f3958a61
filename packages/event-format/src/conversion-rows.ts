import type { PaymentProcessor } from '@waymark/contract';
import { CLICK_COLUMNS, type EventRow, type RowValue } from './columns.js';
import { metadataPairs } from './metadata-pairs.js';
import { PAYLOAD_HEAD } from './payload.js';

/** What a lead adds to its click. */
export interface LeadFacts {
  readonly eventId: string;
  readonly eventName: string;
  /** Epoch milliseconds; the time inside `eventId`. */
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

function conversionRow(click: EventRow, facts: LeadFacts, sale: string): RowValue[] {
  const clickMembers = text(click, CLICK_PAYLOAD).slice(PAYLOAD_HEAD.length);
  return [
    text(click, 0),
    facts.timestampMs,
    facts.eventId,
    facts.eventName,
    facts.customerId,
    text(click, 3),
    text(click, 2),
    click[1] ?? 0,
    ...click.slice(ATTRIBUTES_START, ATTRIBUTES_END),
    metadataPairs(facts.metadata),
    `${PAYLOAD_HEAD}${sale}"metadata":${JSON.stringify(facts.metadata)},${clickMembers}`,
    text(click, CLICK_IP),
  ];
}

/** The row of a lead, version 1: every attribute of `click` (a click row of version 1) is copied onto it. */
export function leadRow(click: EventRow, facts: LeadFacts): EventRow {
  return conversionRow(click, facts, '');
}

/** What a sale adds to a lead's facts. */
export interface SaleFacts extends LeadFacts {
  /** Minor units of `currency`: cents for `usd`. */
  readonly amount: number;
  readonly currency: string;
  readonly invoiceId: string | null;
  readonly paymentProcessor: PaymentProcessor;
  readonly saleType: 'new' | 'recurring';
}

/** The row of a sale, version 1. */
export function saleRow(click: EventRow, facts: SaleFacts): EventRow {
  const sale = JSON.stringify({
    amount: facts.amount,
    invoiceId: facts.invoiceId,
    paymentProcessor: facts.paymentProcessor,
    currency: facts.currency,
  });
  const row = conversionRow(click, facts, `"sale":${sale},`);
  row.push(facts.invoiceId ?? '', facts.amount, facts.saleType);
  return row;
}
