import type { ErasureTarget } from './mutations.js';
import { clicksIn, customersIn, type ErasedClick, type ErasedCustomer, ofClicks, ofCustomers } from './people.js';

const SETTINGS = { log_comment: 'erasure' };
const LEADS_AND_SALES = ['lead_events', 'sale_events'] as const;

/** The number of leads and sales of each customer that has any. The keys are the UInt64 of the customers' ids, as decimal text. */
export async function countEvents(
  { client }: ErasureTarget,
  customers: readonly ErasedCustomer[],
): Promise<ReadonlyMap<string, number>> {
  const parts = LEADS_AND_SALES.map((table) => `SELECT customer_id FROM ${table} WHERE ${ofCustomers('customers')}`);
  const rows = await client.rows<[string, string]>({
    query: `SELECT toString(customer_id), count() FROM (${parts.join(' UNION ALL ')}) GROUP BY customer_id`,
    parameters: customersIn('customers', customers),
    settings: SETTINGS,
  });
  return new Map(rows.map(([customer, count]) => [customer, Number(count)]));
}

/** The ids of those clicks that leads or sales of other customers also name. Such clicks must not be deleted with the given customers. */
export async function sharedClicks(
  { client }: ErasureTarget,
  customers: readonly ErasedCustomer[],
  clicks: readonly ErasedClick[],
): Promise<ReadonlySet<string>> {
  if (clicks.length === 0) return new Set();
  const where = `${ofClicks('clicks')} AND NOT ${ofCustomers('customers')}`;
  const rows = await client.rows<[string]>({
    query: LEADS_AND_SALES.map((table) => `SELECT DISTINCT toString(click_id) FROM ${table} WHERE ${where}`).join(
      ' UNION ALL ',
    ),
    parameters: { ...customersIn('customers', customers), ...clicksIn('clicks', clicks) },
    settings: SETTINGS,
  });
  return new Set(rows.map(([id]) => id));
}
