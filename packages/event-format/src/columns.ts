/**
 * Rows of the event tables as positional arrays: what a queue job carries and what the writer inserts. One column list per
 * kind and version; a change of a list is a new version, because jobs of the old one may still be queued.
 */

/** Columns that leads and sales copy from their click, in this order. */
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

/** Table, row key and column list of every event kind, by job version `v`. */
export const EVENT_TABLES = {
  click: { table: 'click_events', idColumn: 'click_id', columns: { 1: CLICK_COLUMNS } },
  lead: { table: 'lead_events', idColumn: 'event_id', columns: { 1: LEAD_COLUMNS } },
  sale: { table: 'sale_events', idColumn: 'event_id', columns: { 1: SALE_COLUMNS } },
} as const;

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
 * Every kind that travels through the queue. Customers are catalog rows: writing one again is harmless, and the writer adds
 * the row of their name.
 */
export const QUEUE_TABLES = {
  ...EVENT_TABLES,
  customer: { table: 'customers', idColumn: 'id', columns: { 1: CUSTOMER_COLUMNS } },
} as const;

export type QueueKind = keyof typeof QUEUE_TABLES;
export const EVENT_ROW_VERSION = 1;

/** One value of a row. Strings, numbers, and the string array of `metadata_kv`; 64-bit ids are decimal strings. */
export type RowValue = string | number | readonly string[];
/** A row in the order of its kind's column list. Position 0 is the workspace; in event rows 1 is the timestamp in epoch
 * milliseconds. */
export type EventRow = readonly RowValue[];
