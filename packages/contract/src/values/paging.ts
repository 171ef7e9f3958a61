import { queryEnum, queryInteger } from './query-values.js';

/** Largest page size of every list. */
export const PAGE_SIZE_MAX = 100;

const SORT_ORDERS = ['asc', 'desc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

/** `page` and `pageSize` of a list. */
export function pageShape(bounds: { readonly pageSizeDefault?: number } = {}) {
  return {
    page: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 }).describe('Number of the page.'),
    pageSize: queryInteger({
      min: 1,
      max: PAGE_SIZE_MAX,
      default: bounds.pageSizeDefault ?? PAGE_SIZE_MAX,
    }).describe('Items on a page.'),
  };
}

/**
 * `sortBy` and `sortOrder` of a list.
 *
 * @param fields values of `sortBy`; the first one is the default
 * @param defaultOrder for the documentation
 * @param olderNames names of some of the values that older clients send
 */
export function sortShape<const Fields extends readonly [string, ...string[]]>(
  fields: Fields,
  defaultOrder: SortOrder,
  olderNames?: ReadonlyMap<unknown, Fields[number]>,
) {
  return {
    sortBy: queryEnum(fields, olderNames).describe(`Field to sort by; \`${fields[0]}\` by default.`),
    sortOrder: queryEnum(SORT_ORDERS).describe(`\`${defaultOrder}\` by default.`),
  };
}
