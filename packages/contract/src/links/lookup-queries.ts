import type { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { queryText } from '../values/query-values.js';

/** Query of `GET /links/info`: either `linkId`, or `externalId`, or `domain` with or without `key`. */
export const linkInfoQuerySchema = closedQuery({
  linkId: queryText.describe('Id of the link, `link_…`, or `ext_` and your own id.'),
  externalId: queryText.describe('Your own id of the link, with `ext_` in front.'),
  domain: queryText.describe('Domain of the link; without `key` it stands for the domain’s own link.'),
  key: queryText.describe('Key of the link on `domain`.'),
});
export type LinkInfoQuery = z.infer<typeof linkInfoQuerySchema>;
