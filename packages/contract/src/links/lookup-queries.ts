import type { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { queryText } from '../values/query-values.js';

/** Query of `GET /links/info`: either `linkId`, or `externalId`, or `domain` with or without `key`. */
export const linkInfoQuerySchema = closedQuery({
  linkId: queryText,
  externalId: queryText,
  domain: queryText,
  key: queryText,
});
export type LinkInfoQuery = z.infer<typeof linkInfoQuerySchema>;
