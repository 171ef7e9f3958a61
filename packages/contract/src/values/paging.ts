import { queryEnum, queryInteger } from './query-values.js';

/** Largest page size of every list. */
export const PAGE_SIZE_MAX = 100;

export const SORT_ORDERS = ['asc', 'desc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

/** `page` and `pageSize` of a list. */
export function pageShape(bounds: { readonly pageSizeDefault?: number } = {}) {
  return {
    page: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 }),
    pageSize: queryInteger({ min: 1, max: PAGE_SIZE_MAX, default: bounds.pageSizeDefault ?? PAGE_SIZE_MAX }),
  };
}

/** `sortBy` and `sortOrder` of a list; each list has its own defaults. */
export function sortShape<const Fields extends readonly [string, ...string[]]>(fields: Fields) {
  return { sortBy: queryEnum(fields), sortOrder: queryEnum(SORT_ORDERS) };
}
