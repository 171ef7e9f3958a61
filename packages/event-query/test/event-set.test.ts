import { createEventId } from '@waymark/contract';
import { expect, test } from 'vitest';
import { type BindScope, bindFilters, parseFilters, planEventSet, printEventSet } from '../src/index.js';
import { NOW, programId, workspaceId } from './world.js';

const SCOPE: BindScope = { workspaceId: workspaceId(7), programId: programId(1) };
const DAY_MS = 86_400_000;
const idAt = (timeMs: number) => createEventId(timeMs);
const filtersOf = (query: Parameters<typeof parseFilters>[0]) => ({
  bound: bindFilters(parseFilters(query, NOW), SCOPE),
  stats: { hasRemovedLinks: false },
});

test('one filter is a condition of the query, with the ids and the time of the events', () => {
  const ids = [idAt(NOW), idAt(NOW - 1000)];
  const { sql, params } = printEventSet(planEventSet([filtersOf({ country: 'US' })], ids));
  expect(sql).toBe(
    'SELECT click_id, timestamp, link_id, payload, ip FROM click_events WHERE workspace_id = {p0:UInt64} AND ' +
      "(click_id IN {p1:Array(String)} AND timestamp >= {p2:DateTime64(3, 'UTC')} AND timestamp <= {p3:DateTime64(3, 'UTC')}) " +
      'AND country IN {p4:Array(String)}',
  );
  expect(params).toMatchObject({ p0: 7n, p1: [...ids].reverse(), p4: ['US'] });
});

test('several filters are columns of one query, which names the ids once', () => {
  const filters = [filtersOf({ event: 'sales', country: 'US' }), filtersOf({ event: 'sales' })] as const;
  const { sql } = printEventSet(planEventSet(filters, [idAt(NOW)]));
  expect(sql).toBe(
    'SELECT event_id, timestamp, link_id, payload, ip, event_name, customer_id, (country IN {p0:Array(String)}), NOT (false) ' +
      'FROM sale_events WHERE workspace_id = {p1:UInt64} AND ' +
      "(event_id IN {p2:Array(String)} AND timestamp >= {p3:DateTime64(3, 'UTC')} AND timestamp <= {p4:DateTime64(3, 'UTC')})",
  );
});

test('an event that is days late is searched at its own time, not in the days between', () => {
  const ids = [idAt(NOW), idAt(NOW - 20 * DAY_MS), idAt(NOW - 1000)];
  const { sql, params } = printEventSet(planEventSet([filtersOf({})], ids));
  expect(sql.match(/click_id IN/g)).toHaveLength(2);
  expect(params).toMatchObject({ p1: [ids[1]], p4: [ids[2], ids[0]] });
});

test('texts that are no ids of events match nothing', () => {
  expect(printEventSet(planEventSet([filtersOf({})], ['x'])).sql).toMatch(/AND false$/);
});
