import {
  type CLICK_ATTRIBUTE_COLUMNS,
  type EventRow,
  type EventTableKind,
  QUEUE_TABLES,
  type RowValue,
} from './columns.js';
import { type EventPayload, PAYLOAD_HEAD, parsePayload } from './payload.js';

/**
 * The event name of an erased lead or sale. It always replaces the name of a queued row; a stored event keeps its name if other people have
 * events with that name.
 */
export const ERASED_EVENT_NAME = 'Erased';

/**
 * Values of columns of an event after an erasure. The columns that are not named here stay: ids, times, trigger, country, continent,
 * device, browser, operating system, amount and kind of a sale.
 */
export const ERASED_ATTRIBUTES = {
  region: 'Unknown',
  city: 'Unknown',
  referer: '(direct)',
  referer_url: '(direct)',
  url: '',
  url_base: '',
  utm_source: '',
  utm_medium: '',
  utm_campaign: '',
  utm_term: '',
  utm_content: '',
} as const satisfies Partial<Record<(typeof CLICK_ATTRIBUTE_COLUMNS)[number], string>>;

/** The fields of the click object that an erasure replaces; the others, in the order of the payload, are kept. */
const ERASED_CLICK_FIELDS = {
  url: '',
  city: 'Unknown',
  region: 'Unknown',
  ua: '',
  referer: '(direct)',
  refererUrl: '(direct)',
} as const;

/** The payload without what identifies the visitor. The erasure of stored rows writes the same text in SQL (packages/clickhouse). */
export function anonymisedPayload(text: string): string {
  const { click, sale, metadata }: EventPayload = parsePayload(text);
  const saleText = sale === undefined ? '' : `"sale":${JSON.stringify({ ...(sale as object), invoiceId: null })},`;
  const metadataText = metadata === undefined ? '' : '"metadata":null,';
  return `${PAYLOAD_HEAD}${saleText}${metadataText}"click":${JSON.stringify({ ...click, ...ERASED_CLICK_FIELDS })}}`;
}

/**
 * A row of the queue, version 1, without what identifies the visitor or the customer.
 *
 * @throws SyntaxError or Error for a payload that is not of version 1
 */
export function anonymisedRow(kind: EventTableKind, row: EventRow): EventRow {
  const replaced: Readonly<Record<string, RowValue>> = {
    ...ERASED_ATTRIBUTES,
    ip: '',
    ...(kind === 'click' ? {} : { event_name: ERASED_EVENT_NAME, metadata_kv: [], invoice_id: '' }),
  };
  const columns: readonly string[] = QUEUE_TABLES[kind].columns[1];
  return columns.map((column, position) => {
    const value = row[position] ?? '';
    return column === 'payload' ? anonymisedPayload(String(value)) : (replaced[column] ?? value);
  });
}
