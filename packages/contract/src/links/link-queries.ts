import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryBoolean, queryEnum, queryList, queryText } from '../values/query-values.js';

/** Highest page number in lists of links, counted from the cursor if there is one; cursors have no limit. */
export const LINK_PAGES_MAX = 1000;

/** Value of `folderId` that selects links without a folder. */
export const NO_FOLDER = 'unsorted';

/** The filters of lists of links. */
export const linkFilterShape = {
  domain: queryText.describe('Only links of this domain.'),
  tagId: queryText.describe('Deprecated: a single item of `tagIds`.'),
  tagIds: queryList.describe('Only links with at least one of these tags.'),
  tagNames: queryList.describe('Only links with at least one tag of these names.'),
  folderId: queryText.describe('Only links of this folder; `unsorted` for links in no folder.'),
  search: queryText.describe(
    'Part of the short link or of the destination, in any case; keys outside ASCII by whole parts between `/` and `.`.',
  ),
  userId: queryText.describe('Only links that a key of this user has created.'),
  tenantId: queryText.describe('Only links with this `tenantId`.'),
  partnerId: queryText.describe('Only links of this partner.'),
  linkIds: queryList.describe('Only these links: `link_…` ids, or `ext_` and your own ids; others match nothing.'),
  showArchived: queryBoolean.describe('`true` lists archived links, too.'),
  withTags: queryBoolean.describe('Deprecated: `true` lists only links with a tag.'),
};

const LINK_SORTS = ['createdAt', 'clicks', 'saleAmount', 'lastClicked'] as const;

/** Query of `GET /links`; newest first by default. */
export const listLinksQuerySchema = closedQuery({
  ...linkFilterShape,
  ...sortShape(LINK_SORTS, 'desc'),
  sort: queryEnum(LINK_SORTS).describe('Deprecated: use `sortBy`, which it replaces; `createdAt` is ignored.'),
  ...pageShape(),
  startingAfter: queryText.describe('Lists the links after the one with this id; `page` counts from there.'),
  endingBefore: queryText.describe(
    'Lists the links before the one with this id; `page` counts from there, away from it.',
  ),
});
export type ListLinksQuery = z.infer<typeof listLinksQuerySchema>;
export type LinkFilterQuery = Pick<ListLinksQuery, keyof typeof linkFilterShape>;

/** Query of `GET /links/count`. */
export const countLinksQuerySchema = closedQuery({
  ...linkFilterShape,
  groupBy: queryEnum(['domain', 'tagId', 'userId', 'folderId']).describe(
    'Counts for each value of this field, highest first.',
  ),
});

/** Response of `GET /links/count`: a number or, with `groupBy`, a number for each value of that field. */
export const linksCountSchema = z.union([
  z.number(),
  z.array(
    z.strictObject({
      domain: z.string().optional().describe('Domain of the counted links, with `groupBy=domain`.'),
      tagId: z.string().optional().describe('Tag of the counted links, with `groupBy=tagId`.'),
      userId: z
        .string()
        .nullable()
        .optional()
        .describe('User who created the counted links, with `groupBy=userId`; `null` for links without one.'),
      folderId: z
        .string()
        .nullable()
        .optional()
        .describe('Folder of the counted links, with `groupBy=folderId`; `null` for links in no folder.'),
      _count: z.number().describe('Number of links.'),
    }),
  ),
]);

/** Query of `DELETE /links/bulk`. */
export const deleteLinksQuerySchema = closedQuery({
  linkIds: queryList.describe('Ids of up to 100 links: `link_…` ids, or `ext_` and your own ids without commas.'),
});
