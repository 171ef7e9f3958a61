import type { EventKind } from '@waymark/contract';
import { NOTHING } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import { numbersOf } from './matchers.js';

/**
 * Events of one customer. A click is the customer's when any lead of theirs names it; leads keep the time of their click, so
 * that the clicks are found by key.
 *
 * @param customerId undefined = no such customer, so nothing matches
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
