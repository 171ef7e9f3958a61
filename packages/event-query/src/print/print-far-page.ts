import type { CountPlan, StartSlotPlan } from '../plan/far-page.js';
import { type CompiledQuery, Parameters, printRead } from './print.js';

/** SQL of a count: one row with one number. */
export function printCount({ read, settings }: CountPlan): CompiledQuery {
  const parameters = new Parameters();
  return { sql: printRead(read, 'count()', parameters), params: parameters.values, settings };
}

/**
 * SQL that finds the 15-minute slot at an offset: one row with the start of the slot and the number of events before it; no row
 * when there are fewer events than the offset.
 */
export function printStartSlot({ read, subtracted, direction, offset, settings }: StartSlotPlan): CompiledQuery {
  const parameters = new Parameters();
  const slots = printSlots(read, subtracted, parameters);
  const sums = `SELECT slot, events, sum(events) OVER (ORDER BY slot ${direction} ROWS UNBOUNDED PRECEDING) AS reached FROM (${slots})`;
  const skipped = parameters.placeholder({ type: 'UInt64', value: offset });
  return {
    sql: `SELECT slot, reached - events FROM (${sums}) WHERE reached > ${skipped} ORDER BY slot ${direction} LIMIT 1`,
    params: parameters.values,
    settings,
  };
}

/** SQL for the number of events in each 15-minute slot. */
function printSlots(
  read: StartSlotPlan['read'],
  subtracted: StartSlotPlan['subtracted'],
  parameters: Parameters,
): string {
  const column = read.columns.join();
  if (subtracted === undefined) return `${printRead(read, `slot, sum(${column}) AS events`, parameters)} GROUP BY slot`;
  const counted = printRead(read, `slot, toInt64(${column}) AS part`, parameters);
  const left = printRead(subtracted, 'toStartOfFifteenMinutes(timestamp) AS slot, toInt64(-1) AS part', parameters);
  return `SELECT slot, sum(part) AS events FROM (${counted} UNION ALL ${left}) GROUP BY slot`;
}
