import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryBoolean, queryEnum, queryLinks, queryList, queryText } from '../values/query-values.js';

/** Last page of lists of links; cursors go on from there. */
export const LINK_PAGES_MAX = 1000;

/** `folderId` of links that are in no folder. */
export const NO_FOLDER = 'unsorted';

const linkFilters = {
  domain: queryText,
  /** Deprecated: one of `tagIds`. */
  tagId: queryText,
  tagIds: queryList,
  tagNames: queryList,
  folderId: queryText,
  search: queryText,
  userId: queryText,
  tenantId: queryText,
  partnerId: queryText,
  linkIds: queryLinks,
  showArchived: queryBoolean,
  /** Deprecated: only links with at least one tag. */
  withTags: queryBoolean,
};

/** Query of `GET /links`: newest first unless said otherwise. */
export const listLinksQuerySchema = closedQuery({
  ...linkFilters,
  ...sortShape(['createdAt', 'clicks', 'saleAmount', 'lastClicked']),
  ...pageShape(),
  startingAfter: queryText,
  endingBefore: queryText,
});
export type ListLinksQuery = z.infer<typeof listLinksQuerySchema>;
export type LinkFilterQuery = Pick<ListLinksQuery, keyof typeof linkFilters>;

/** Query of `GET /links/count`. */
export const countLinksQuerySchema = closedQuery({
  ...linkFilters,
  groupBy: queryEnum(['domain', 'tagId', 'userId', 'folderId']),
});

/** Answer of `GET /links/count`: a number or, grouped, a number a value. */
export const linksCountSchema = z.union([
  z.number(),
  z.array(
    z.strictObject({
      domain: z.string().optional(),
      tagId: z.string().optional(),
      /** Null = links without one. */
      userId: z.string().nullable().optional(),
      /** Null = links in no folder. */
      folderId: z.string().nullable().optional(),
      _count: z.number(),
    }),
  ),
]);

/** Query of `DELETE /links/bulk`. */
export const deleteLinksQuerySchema = closedQuery({ linkIds: queryList });
