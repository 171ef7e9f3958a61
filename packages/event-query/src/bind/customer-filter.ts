import type { EventKind } from '@waymark/contract';
import { NOTHING } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import { numbersOf } from './matchers.js';

/**
 * Selects the events of one customer. Clicks have no customer column: a click belongs to the customer if one of their leads
 * refers to it. Leads store the time of their click, so the clicks are found through the primary key.
 *
 * @param customerId undefined = no such customer: nothing matches
 */
export function customerCondition(workspace: bigint, kind: EventKind, customerId: string | undefined): Condition {
  const [customer] = customerId === undefined ? [] : numbersOf('customer', [customerId]);
  if (customer === undefined) return NOTHING;
  const isCustomer: Condition = {
    type: 'compare',
    column: 'customer_id',
    operator: '=',
    value: { type: 'UInt64', value: customer },
  };
  if (kind !== 'clicks') return isCustomer;
  return {
    type: 'inRead',
    columns: ['timestamp', 'click_id'],
    read: {
      table: 'lead_events',
      isFinal: false,
      workspace,
      columns: ['click_timestamp', 'click_id'],
      where: [isCustomer],
    },
  };
}
