import type { Condition, TableRead } from './sql-nodes.js';

/** Matches no row. */
export const NOTHING: Condition = { type: 'nothing' };

/** Matches the rows that the condition does not match. */
export function not(of: Condition): Condition {
  return { type: 'not', of };
}

/** The event's link is in the result of the read. */
export function linkIn(read: TableRead): Condition {
  return { type: 'inRead', columns: ['link_id'], read };
}

/** Joins the conditions by OR; undefined for an empty list. */
export function anyOf(conditions: readonly Condition[]): Condition | undefined {
  const [first, ...rest] = conditions;
  return first === undefined || rest.length === 0 ? first : { type: 'or', of: [first, ...rest] };
}
