/**
 * Columns of the event tables. Queue jobs carry rows as positional arrays, and the writer inserts them in this order. There is one
 * column list per kind and version: changing a list requires a new version, because jobs with the old one may still be queued.
 */

/** Columns that leads and sales copy from their click. */
export const CLICK_ATTRIBUTE_COLUMNS = [
  'trigger',
  'country',
  'region',
  'city',
  'continent',
  'device',
  'browser',
  'os',
  'referer',
  'referer_url',
  'url',
  'url_base',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
] as const;

export const CLICK_COLUMNS = [
  'workspace_id',
  'timestamp',
  'click_id',
  'link_id',
  ...CLICK_ATTRIBUTE_COLUMNS,
  'payload',
  'ip',
] as const;

const LEAD_COLUMNS = [
  'workspace_id',
  'timestamp',
  'event_id',
  'event_name',
  'customer_id',
  'link_id',
  'click_id',
  'click_timestamp',
  ...CLICK_ATTRIBUTE_COLUMNS,
  'metadata_kv',
  'payload',
  'ip',
] as const;

const SALE_COLUMNS = [...LEAD_COLUMNS, 'invoice_id', 'amount', 'sale_type'] as const;

/** For every event kind its table, the column of its id, and its column lists by version (`v` of a job). */
export const EVENT_TABLES = {
  click: { table: 'click_events', idColumn: 'click_id', columns: { 1: CLICK_COLUMNS } },
  lead: { table: 'lead_events', idColumn: 'event_id', columns: { 1: LEAD_COLUMNS } },
  sale: { table: 'sale_events', idColumn: 'event_id', columns: { 1: SALE_COLUMNS } },
} as const;

/** The column with the time at which an event was stored. The writer adds it to each row that it inserts. */
export const STORED_AT = 'stored_at';

export type EventTableKind = keyof typeof EVENT_TABLES;

const CUSTOMER_COLUMNS = [
  'workspace_id',
  'id',
  'version',
  'deleted',
  'external_id',
  'email',
  'country',
  'link_id',
  'created_at',
  'data',
] as const;

/**
 * {@link EVENT_TABLES} and the table of customers: every kind of row in the queue. Rows of customers are catalog records: inserting one twice
 * is harmless, and with each the writer inserts a row of `names` (name-rows.ts).
 */
export const QUEUE_TABLES = {
  ...EVENT_TABLES,
  customer: { table: 'customers', idColumn: 'id', columns: { 1: CUSTOMER_COLUMNS } },
} as const;

export type QueueKind = keyof typeof QUEUE_TABLES;
/** The version of the column lists with which this release builds event rows. */
export const EVENT_ROW_VERSION = 1;

/** A value of a row: a string, a number, or the string array `metadata_kv`. 64-bit ids are decimal strings. */
export type RowValue = string | number | readonly string[];
/**
 * A row in the order of the column list of its kind. Position 0 is the workspace; in event rows, position 1 is the timestamp in
 * epoch milliseconds.
 */
export type EventRow = readonly RowValue[];
