import { PAYLOAD_HEAD, PAYLOAD_TAIL } from './payload.js';

/** The pieces of a payload of version 1 that an item is put together from. All but the click's id are JSON text. */
export interface PayloadParts {
  /** The sale object; none in clicks and leads. */
  readonly sale: SaleParts | undefined;
  /** None in clicks. */
  readonly metadata: string | undefined;
  /** The click object up to its `ip`, without the closing brace. */
  readonly click: string;
  readonly clickId: string;
  /** `"url":…,"continent":…,…,"os":…`: the run that the deprecated fields repeat. */
  readonly attributes: string;
  readonly isQr: boolean;
}

export interface SaleParts {
  readonly sale: string;
  readonly amount: string;
  /** A JSON string, or `null`. */
  readonly invoiceId: string;
  readonly paymentProcessor: string;
}

const CLICK_START = '"click":{"id":"';
const CLICK_ID_END = '","timestamp":"';
const ATTRIBUTES_START = ',"url":';
const ATTRIBUTES_END = ',"region":';
const IS_QR_END = '"qr":true}}';
const IS_NO_QR_END = '"qr":false}}';
const METADATA_START = '"metadata":';
const AMOUNT_START = '"sale":{"amount":';
const INVOICE_START = ',"invoiceId":';
const PROCESSOR_START = ',"paymentProcessor":';
const CURRENCY_START = ',"currency":';

function unreadable(what: string): Error {
  return new Error(`a stored payload has no ${what}: it is not of version 1`);
}

/**
 * Where `mark` begins, at or after `from`. The quotes of a mark cannot be part of a JSON string, where they are escaped: what
 * is found is always structure, never a value that looks like it.
 */
function find(payload: string, mark: string, from: number): number {
  const position = payload.indexOf(mark, from);
  if (position < 0) throw unreadable(mark);
  return position;
}

function readSale(payload: string, end: number): SaleParts {
  const amount = PAYLOAD_HEAD.length + AMOUNT_START.length;
  const invoice = find(payload, INVOICE_START, amount);
  const processor = find(payload, PROCESSOR_START, invoice + INVOICE_START.length);
  const currency = find(payload, CURRENCY_START, processor + PROCESSOR_START.length);
  return {
    sale: payload.slice(PAYLOAD_HEAD.length, end),
    amount: payload.slice(amount, invoice),
    invoiceId: payload.slice(invoice + INVOICE_START.length, processor),
    paymentProcessor: payload.slice(processor + PROCESSOR_START.length, currency),
  };
}

/** What stands before the click: `"sale":{…},"metadata":…,`, or the metadata alone, or nothing. */
function readConversion(payload: string, click: number): Pick<PayloadParts, 'sale' | 'metadata'> {
  const start = PAYLOAD_HEAD.length;
  if (start === click) return { sale: undefined, metadata: undefined };
  const isSale = payload.startsWith(AMOUNT_START, start);
  // The sale comes first and is flat, so the first mark is the one that ends it; metadata may hold anything.
  const metadata = isSale ? find(payload, `},${METADATA_START}`, start) + 2 : start;
  if (!payload.startsWith(METADATA_START, metadata)) throw unreadable(METADATA_START);
  return {
    sale: isSale ? readSale(payload, metadata - 1) : undefined,
    metadata: payload.slice(metadata + METADATA_START.length, click - 1),
  };
}

/**
 * Takes a stored payload apart without parsing it: its texts go into the answer as they stand.
 *
 * @throws Error when it is not of version 1
 */
export function readPayload(payload: string): PayloadParts {
  // Metadata may contain the mark as structure of its own; the click comes last and holds no objects.
  const isClick = payload.startsWith(CLICK_START, PAYLOAD_HEAD.length);
  const click = isClick ? PAYLOAD_HEAD.length : payload.lastIndexOf(CLICK_START);
  const isQr = payload.endsWith(IS_QR_END);
  if (!payload.startsWith(PAYLOAD_HEAD) || click < 0 || !(isQr || payload.endsWith(IS_NO_QR_END))) {
    throw unreadable('click');
  }
  const id = click + CLICK_START.length;
  const idEnd = find(payload, CLICK_ID_END, id);
  const attributes = find(payload, ATTRIBUTES_START, idEnd) + 1;
  return {
    ...readConversion(payload, click),
    click: payload.slice(click + '"click":'.length, -PAYLOAD_TAIL.length),
    clickId: payload.slice(id, idEnd),
    attributes: payload.slice(attributes, find(payload, ATTRIBUTES_END, attributes)),
    isQr,
  };
}
