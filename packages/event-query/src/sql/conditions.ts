import type { Condition, TableRead } from './sql-nodes.js';

/** What no row meets. */
export const NOTHING: Condition = { type: 'nothing' };

export function not(of: Condition): Condition {
  return { type: 'not', of };
}

/** The event is of no link that the read gives. */
export function notInRead(read: TableRead | undefined): Condition[] {
  return read === undefined ? [] : [not({ type: 'inRead', columns: ['link_id'], read })];
}

/** Any of the conditions; undefined when there is none. */
export function anyOf(conditions: readonly Condition[]): Condition | undefined {
  const [first, ...rest] = conditions;
  return first === undefined || rest.length === 0 ? first : { type: 'or', of: [first, ...rest] };
}
