import type { CountPlan, SlotPlan } from '../plan/far-page.js';
import { type CompiledQuery, Parameters, printRead } from './print.js';

/** The statement of a count: one row with one number. */
export function printCount({ read, settings }: CountPlan): CompiledQuery {
  const parameters = new Parameters();
  return { sql: printRead(read, 'count()', parameters), params: parameters.values, settings };
}

/** The statement that adds up quarters of an hour: the start of one, and the events before it; no row past the last event. */
export function printSlot({ read, takenAway, direction, offset, settings }: SlotPlan): CompiledQuery {
  const parameters = new Parameters();
  const slots = printSlots(read, takenAway, parameters);
  const sums = `SELECT slot, events, sum(events) OVER (ORDER BY slot ${direction} ROWS UNBOUNDED PRECEDING) AS reached FROM (${slots})`;
  const wanted = parameters.placeholder({ type: 'UInt64', value: offset });
  return {
    sql: `SELECT slot, reached - events FROM (${sums}) WHERE reached > ${wanted} ORDER BY slot ${direction} LIMIT 1`,
    params: parameters.values,
    settings,
  };
}

/** The events of each quarter of an hour. */
function printSlots(read: SlotPlan['read'], takenAway: SlotPlan['takenAway'], parameters: Parameters): string {
  const column = read.columns.join();
  if (takenAway === undefined) return `${printRead(read, `slot, sum(${column}) AS events`, parameters)} GROUP BY slot`;
  const counted = printRead(read, `slot, toInt64(${column}) AS part`, parameters);
  const left = printRead(takenAway, 'toStartOfFifteenMinutes(timestamp) AS slot, toInt64(-1) AS part', parameters);
  return `SELECT slot, sum(part) AS events FROM (${counted} UNION ALL ${left}) GROUP BY slot`;
}
