import type { EventSetPlan } from '../plan/event-set.js';
import { type CompiledQuery, Parameters, printCondition, printRead } from './print.js';

/** SQL of a set of events. Deterministic: the same plan gives the same text. */
export function printEventSet({ read, matches, settings }: EventSetPlan): CompiledQuery {
  const parameters = new Parameters();
  const columns = [...read.columns, ...matches.map((condition) => printCondition(condition, parameters))];
  return { sql: printRead(read, columns.join(', '), parameters), params: parameters.values, settings };
}
