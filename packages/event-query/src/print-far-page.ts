import type { CountPlan, SlotPlan } from './far-page.js';
import { type CompiledQuery, Parameters, printRead } from './print.js';

/** The statement of a count: one row with one number. */
export function printCount({ read, settings }: CountPlan): CompiledQuery {
  const parameters = new Parameters();
  return { sql: printRead(read, 'count()', parameters), params: parameters.values, settings };
}

/** The statement that adds up quarters of an hour: the start of one, and the events before it; no row past the last event. */
export function printSlot({ read, direction, offset, settings }: SlotPlan): CompiledQuery {
  const parameters = new Parameters();
  const slots = `${printRead(read, `slot, sum(${read.columns.join()}) AS events`, parameters)} GROUP BY slot`;
  const sums = `SELECT slot, events, sum(events) OVER (ORDER BY slot ${direction} ROWS UNBOUNDED PRECEDING) AS reached FROM (${slots})`;
  const wanted = parameters.placeholder({ type: 'UInt64', value: offset });
  return {
    sql: `SELECT slot, reached - events FROM (${sums}) WHERE reached > ${wanted} ORDER BY slot ${direction} LIMIT 1`,
    params: parameters.values,
    settings,
  };
}
