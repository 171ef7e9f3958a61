import type { ValueLists } from '../parse/multi-value.js';
import { NOTHING } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import type { Matcher } from './matchers.js';

/** A filter on one attribute as conditions. */
export interface FilterConditions {
  /** Rows must match this. */
  readonly include?: Condition | undefined;
  /** Rows must not match this. */
  readonly exclude?: Condition | undefined;
  /** Whether the condition usually matches few links. */
  readonly isSelective?: boolean | undefined;
}

/**
 * Translates the lists of a filter into conditions. If none of the values can exist, the `include` list matches nothing and the
 * `exclude` list excludes nothing.
 */
export function filterConditions({ include, exclude }: ValueLists, match: Matcher): FilterConditions {
  return {
    include: include.length === 0 ? undefined : (match(include) ?? NOTHING),
    exclude: exclude.length === 0 ? undefined : match(exclude),
  };
}
