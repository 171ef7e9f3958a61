import { fieldError, parseResourceId } from '@waymark/contract';

/** The parameters that can begin a page next to a given record. */
export interface CursorQuery {
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
}

/**
 * The cursor of a query, `startingAfter` or `endingBefore`; undefined when it has neither and selects its page by number.
 *
 * @param sortBy the order of the list
 * @param everExisted whether the workspace has, or ever had, the record: a cursor stays valid when its record is removed
 * @throws ApiError 422 for both parameters, for another order than that of creation, and for an id that the workspace has never had
 */
export async function cursorOf(
  kind: 'link' | 'customer',
  { startingAfter, endingBefore }: CursorQuery,
  sortBy: string,
  everExisted: (id: string) => Promise<boolean>,
) {
  const isAfter = startingAfter !== undefined;
  if (isAfter && endingBefore !== undefined) {
    throw fieldError('invalid_combination', 'endingBefore', 'cannot be used together with startingAfter');
  }
  const id = startingAfter ?? endingBefore;
  if (id === undefined) return undefined;
  const parameter = isAfter ? 'startingAfter' : 'endingBefore';
  if (sortBy !== 'createdAt') {
    throw fieldError('invalid_combination', parameter, 'cannot be used together with sortBy');
  }
  const isKnown = parseResourceId(kind, id) !== undefined && (await everExisted(id));
  if (!isKnown) throw fieldError('invalid_value', parameter, `must be the id of a ${kind}`);
  return { id, side: isAfter ? ('after' as const) : ('before' as const) };
}
