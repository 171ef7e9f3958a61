import type { Matcher } from '../bind/matchers.js';
import type { ValueLists } from '../parse/multi-value.js';
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

/** What a filter says of one attribute. */
export interface Demand {
  /** Has to be met. */
  readonly wanted?: Condition | undefined;
  /** Must not be met. */
  readonly unwanted?: Condition | undefined;
  /** Of an attribute that few links share, as a rule. */
  readonly isNarrow?: boolean | undefined;
}

/**
 * Both lists as conditions. Of values that cannot exist, a wanted list is met by nothing and an unwanted one leaves out
 * nothing.
 */
export function demandOf({ include, exclude }: ValueLists, match: Matcher): Demand {
  return {
    wanted: include.length === 0 ? undefined : (match(include) ?? NOTHING),
    unwanted: exclude.length === 0 ? undefined : match(exclude),
  };
}
