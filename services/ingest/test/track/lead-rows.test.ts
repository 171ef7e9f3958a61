import { formatResourceId } from '@waymark/contract';
import { EVENT_TABLES } from '@waymark/event-format';
import { aClick } from '@waymark/test-kit';
import { expect, test } from 'vitest';
import { queuedLead } from '../../src/track/conversions/lead-rows.js';

const EVENT_ID = EVENT_TABLES.lead.columns[1].indexOf('event_id');
const customerId = formatResourceId('customer', '7');

test('a lead has as many different ids as its quantity', () => {
  const lead = { click: aClick(), customerId, eventName: 'Seats', metadata: { seats: 5 } };
  for (const quantity of [1, 5]) {
    const { row, copyIds = [] } = queuedLead({ ...lead, quantity }, Date.now());
    expect(copyIds).toHaveLength(quantity - 1);
    expect(new Set([row[EVENT_ID], ...copyIds]).size).toBe(quantity);
  }
});
