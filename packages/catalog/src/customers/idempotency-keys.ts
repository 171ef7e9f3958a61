import type { ClickHouseClient } from '@waymark/clickhouse';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';

/** Limit on the keys of each kind, more than any customer has within {@link STORED_DAYS}. */
const KEYS_MAX = 10_000;
/** Days of events that are read; the stored answers to older events have expired. */
const STORED_DAYS = 9;

const recentKeys = (column: string, table: string) => `SELECT DISTINCT ${column} FROM ${table}
WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64}
  AND timestamp > now() - INTERVAL ${STORED_DAYS} DAY AND ${column} != '' LIMIT ${KEYS_MAX}`;

const EVENT_NAMES = recentKeys('event_name', 'lead_events');
const INVOICE_IDS = recentKeys('invoice_id', 'sale_events');

/** Event names and invoice ids under which answers that contain the customer are stored in Redis. */
export interface CustomerIdempotencyKeys {
  readonly eventNames: readonly string[];
  readonly invoiceIds: readonly string[];
}

/** Reads the {@link CustomerIdempotencyKeys} of a customer from its recent events. */
export async function readIdempotencyKeys(
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, number>>,
  workspaceId: string,
  customerId: string,
): Promise<CustomerIdempotencyKeys> {
  const parameters = { workspace: numberOf('workspace', workspaceId), customer: numberOf('customer', customerId) };
  const read = async (query: string) =>
    (await queryRows<[string]>(clickhouse, { query, parameters, settings })).map(([value]) => value);
  const [eventNames, invoiceIds] = await Promise.all([read(EVENT_NAMES), read(INVOICE_IDS)]);
  return { eventNames, invoiceIds };
}
