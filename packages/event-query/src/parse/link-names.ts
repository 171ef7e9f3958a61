import { EXTERNAL_ID_PREFIX } from '@waymark/contract';
import { mapValues } from './multi-value.js';
import type { Filter, ParsedFilters } from './parsed-request.js';

function isOnLinkIds(filter: Filter): filter is Extract<Filter, { readonly type: 'list' }> {
  return filter.type === 'list' && filter.parameter === 'linkId';
}

/** The links that `linkId` names by the caller's own ids, prefix included; they have to be looked up before bind. */
export function linkNames({ filters }: ParsedFilters): string[] {
  const listed = filters.filter(isOnLinkIds).flatMap(({ values }) => [...values.include, ...values.exclude]);
  return [...new Set(listed.filter((value) => value.startsWith(EXTERNAL_ID_PREFIX)))];
}

/** The filters with ids in the place of names. A name that is nobody's stays, and matches nothing. */
export function withLinkIds(
  filters: readonly Filter[],
  ids: ReadonlyMap<string, string> = new Map(),
): readonly Filter[] {
  if (ids.size === 0) return filters;
  return filters.map((filter) =>
    isOnLinkIds(filter) ? { ...filter, values: mapValues(filter.values, (value) => ids.get(value) ?? value) } : filter,
  );
}
