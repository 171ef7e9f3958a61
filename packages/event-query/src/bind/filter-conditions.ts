import type { ValueLists } from '../parse/multi-value.js';
import { NOTHING } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import type { Matcher } from './matchers.js';

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
