import { formatResourceId } from '@waymark/contract';
import { EVENT_TABLES } from '@waymark/event-format';
import { aClick } from '@waymark/test-kit';
import { expect, test } from 'vitest';
import { leadRows } from '../../src/track/conversions/lead-rows.js';

const EVENT_ID = EVENT_TABLES.lead.columns[1].indexOf('event_id');
const customerId = formatResourceId('customer', '7');

test('the rows of one lead differ only in their ids, and webhooks receive the first', () => {
  const lead = { click: aClick(), customerId, eventName: 'Seats', metadata: { seats: 5 }, quantity: 5 };
  const rows = leadRows(lead, Date.now());
  expect(rows.map(({ isSilent = false }) => isSilent)).toEqual([false, true, true, true, true]);
  expect(new Set(rows.map(({ row }) => row[EVENT_ID])).size).toBe(5);
  expect(new Set(rows.map(({ row }) => JSON.stringify(row.with(EVENT_ID, '')))).size).toBe(1);
});

test('webhooks receive a lead with quantity 1', () => {
  const lead = { click: aClick(), customerId, eventName: 'Sign up', metadata: null, quantity: 1 };
  expect(leadRows(lead, Date.now()).map(({ isSilent = false }) => isSilent)).toEqual([false]);
});
