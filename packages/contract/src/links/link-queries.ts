import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryBoolean, queryEnum, queryLinks, queryList, queryText } from '../values/query-values.js';

/** Highest page number in lists of links; pages by cursor have no limit. */
export const LINK_PAGES_MAX = 1000;

/** Value of `folderId` that selects links without a folder. */
export const NO_FOLDER = 'unsorted';

/** The filters of lists of links. */
export const linkFilterShape = {
  domain: queryText,
  /** Deprecated: a single `tagIds` item. */
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

/** Query of `GET /links`; newest first by default. */
export const listLinksQuerySchema = closedQuery({
  ...linkFilterShape,
  ...sortShape(['createdAt', 'clicks', 'saleAmount', 'lastClicked']),
  ...pageShape(),
  startingAfter: queryText,
  endingBefore: queryText,
});
export type ListLinksQuery = z.infer<typeof listLinksQuerySchema>;
export type LinkFilterQuery = Pick<ListLinksQuery, keyof typeof linkFilterShape>;

/** Query of `GET /links/count`. */
export const countLinksQuerySchema = closedQuery({
  ...linkFilterShape,
  groupBy: queryEnum(['domain', 'tagId', 'userId', 'folderId']),
});

/** Response of `GET /links/count`: a number or, with `groupBy`, a number for each value of that field. */
export const linksCountSchema = z.union([
  z.number(),
  z.array(
    z.strictObject({
      domain: z.string().optional(),
      tagId: z.string().optional(),
      /** Null = links without a user. */
      userId: z.string().nullable().optional(),
      /** Null = links in no folder. */
      folderId: z.string().nullable().optional(),
      _count: z.number(),
    }),
  ),
]);

/** Query of `DELETE /links/bulk`. */
export const deleteLinksQuerySchema = closedQuery({ linkIds: queryList });
