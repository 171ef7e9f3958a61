import { fieldError } from '@waymark/contract';

/** Values to include and to exclude; at least one of the lists has a value. */
export interface ValueLists {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const ITEMS_MAX = 1000;

/**
 * Parses a comma-separated filter: `US,BR` includes both, `-US,BR` excludes both, `US,-BR` includes the first and excludes the
 * second. Empty items are dropped. Undefined when no item is left: the filter is not applied.
 *
 * @throws ApiError 422 for more than 1000 items
 */
export function parseMultiValue(parameter: string, text: string | undefined): ValueLists | undefined {
  if (text === undefined) return undefined;
  const isNegated = text.startsWith('-');
  const items = (isNegated ? text.slice(1) : text).split(',');
  const include = new Set<string>();
  const exclude = new Set<string>();
  let count = 0;
  items.forEach((item, index) => {
    // A leading dash negates the whole list; do not count it as the dash of the first item.
    const hasDash = item.startsWith('-') && !(isNegated && index === 0);
    const value = hasDash ? item.slice(1) : item;
    if (value === '') return;
    count += 1;
    (isNegated || hasDash ? exclude : include).add(value);
  });
  if (count > ITEMS_MAX) throw fieldError('too_big', parameter, `must have at most ${ITEMS_MAX} items`);
  return count === 0 ? undefined : { include: [...include], exclude: [...exclude] };
}

/** The first item that is not empty, included or excluded. */
export function firstItem(text: string): string | undefined {
  const items = text.split(',').map((item) => item.replace(/^-/, ''));
  return items.find((item) => item !== '');
}

/** Applies `change` to every value of both lists. */
export function mapValues(lists: ValueLists, change: (value: string) => string): ValueLists {
  return { include: [...new Set(lists.include.map(change))], exclude: [...new Set(lists.exclude.map(change))] };
}
