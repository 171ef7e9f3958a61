import { PAYLOAD_HEAD, PAYLOAD_TAIL } from './payload.js';

/** The parts of a version 1 payload from which the query service builds a result item. All but `clickId` are JSON text. */
export interface PayloadParts {
  /** The sale object; undefined for clicks and leads. */
  readonly sale: SaleParts | undefined;
  /** Undefined for clicks. */
  readonly metadata: string | undefined;
  /** The click object up to its `ip`, without the closing brace. */
  readonly click: string;
  readonly clickId: string;
  /** `"url":…,"continent":…,…,"os":…`: the members that the deprecated top-level fields repeat. */
  readonly attributes: string;
  readonly isQr: boolean;
}

/** The sale object of a payload and some of its members, as JSON text. */
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
const QR_END = '"qr":true}}';
const NOT_QR_END = '"qr":false}}';
const METADATA_START = '"metadata":';
const AMOUNT_START = '"sale":{"amount":';
const INVOICE_START = ',"invoiceId":';
const PROCESSOR_START = ',"paymentProcessor":';
const CURRENCY_START = ',"currency":';

function malformed(missing: string): Error {
  return new Error(`a stored payload has no ${missing}: it is not of version 1`);
}

/**
 * Finds the JSON syntax `mark` at or after `from`. A mark contains quotes, which are escaped inside JSON strings, so a match is
 * never inside a string.
 */
function find(payload: string, mark: string, from: number): number {
  const position = payload.indexOf(mark, from);
  if (position < 0) throw malformed(mark);
  return position;
}

function readSale(payload: string, end: number): SaleParts {
  const amountStart = PAYLOAD_HEAD.length + AMOUNT_START.length;
  const invoiceStart = find(payload, INVOICE_START, amountStart);
  const processorStart = find(payload, PROCESSOR_START, invoiceStart + INVOICE_START.length);
  const currencyStart = find(payload, CURRENCY_START, processorStart + PROCESSOR_START.length);
  return {
    sale: payload.slice(PAYLOAD_HEAD.length, end),
    amount: payload.slice(amountStart, invoiceStart),
    invoiceId: payload.slice(invoiceStart + INVOICE_START.length, processorStart),
    paymentProcessor: payload.slice(processorStart + PROCESSOR_START.length, currencyStart),
  };
}

/** Reads the members before the click: sale and metadata for sales, metadata for leads, none for clicks. */
function readConversion(payload: string, clickStart: number): Pick<PayloadParts, 'sale' | 'metadata'> {
  const start = PAYLOAD_HEAD.length;
  if (start === clickStart) return { sale: undefined, metadata: undefined };
  const isSale = payload.startsWith(AMOUNT_START, start);
  // The first match ends the sale object, which has no nested objects. Later matches may be inside the metadata.
  const metadataStart = isSale ? find(payload, `},${METADATA_START}`, start) + 2 : start;
  if (!payload.startsWith(METADATA_START, metadataStart)) throw malformed(METADATA_START);
  return {
    sale: isSale ? readSale(payload, metadataStart - 1) : undefined,
    metadata: payload.slice(metadataStart + METADATA_START.length, clickStart - 1),
  };
}

/**
 * Splits a stored payload into its parts without parsing the JSON, because the texts are copied into the response unchanged.
 *
 * @throws Error when the payload is not of version 1
 */
export function splitPayload(payload: string): PayloadParts {
  // Metadata may contain the same mark, so search from the end: the click is the last member and has no nested objects.
  const isClick = payload.startsWith(CLICK_START, PAYLOAD_HEAD.length);
  const clickStart = isClick ? PAYLOAD_HEAD.length : payload.lastIndexOf(CLICK_START);
  const isQr = payload.endsWith(QR_END);
  if (!payload.startsWith(PAYLOAD_HEAD) || clickStart < 0 || !(isQr || payload.endsWith(NOT_QR_END))) {
    throw malformed('click');
  }
  const idStart = clickStart + CLICK_START.length;
  const idEnd = find(payload, CLICK_ID_END, idStart);
  const attributesStart = find(payload, ATTRIBUTES_START, idEnd) + 1;
  const { sale, metadata } = readConversion(payload, clickStart);
  return {
    sale,
    metadata,
    click: payload.slice(clickStart + '"click":'.length, -PAYLOAD_TAIL.length),
    clickId: payload.slice(idStart, idEnd),
    attributes: payload.slice(attributesStart, find(payload, ATTRIBUTES_END, attributesStart)),
    isQr,
  };
}
