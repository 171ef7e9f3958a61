import type { EventSetPlan } from '../plan/event-set.js';
import { type CompiledQuery, Parameters, printCondition, printRead } from './print.js';

/**
 * SQL that reads events by their ids. After the columns of the read there is one for each condition of `matches`: whether the event meets
 * it. Deterministic: the same plan gives the same text.
 */
export function printEventSet({ read, matches, settings }: EventSetPlan): CompiledQuery {
  const parameters = new Parameters();
  const columns = [...read.columns, ...matches.map((condition) => printCondition(condition, parameters))];
  return { sql: printRead(read, columns.join(', '), parameters), params: parameters.values, settings };
}
