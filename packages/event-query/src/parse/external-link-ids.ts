import { EXTERNAL_ID_PREFIX } from '@waymark/contract';
import { mapValues } from './multi-value.js';
import type { Filter, ParsedFilters } from './parsed-request.js';

function isLinkIdFilter(filter: Filter): filter is Extract<Filter, { readonly type: 'list' }> {
  return filter.type === 'list' && filter.parameter === 'linkId';
}

/** The external ids (`ext_…`) in the `linkId` filter. The caller looks them up in the catalog before {@link resolveExternalLinkIds}. */
export function externalLinkIds({ filters }: ParsedFilters): string[] {
  const listed = filters.filter(isLinkIdFilter).flatMap(({ values }) => [...values.include, ...values.exclude]);
  return [...new Set(listed.filter((value) => value.startsWith(EXTERNAL_ID_PREFIX)))];
}

/** Replaces external ids in the `linkId` filter by link ids. An external id without a link stays as it is, and matches nothing. */
export function resolveExternalLinkIds(
  filters: readonly Filter[],
  ids: ReadonlyMap<string, string> = new Map(),
): readonly Filter[] {
  if (ids.size === 0) return filters;
  return filters.map((filter) =>
    isLinkIdFilter(filter)
      ? { ...filter, values: mapValues(filter.values, (value) => ids.get(value) ?? value) }
      : filter,
  );
}
