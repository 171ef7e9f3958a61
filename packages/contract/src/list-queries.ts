import { z } from 'zod';
import { queryText } from './query-values.js';

/** Query of `GET /links/info` (spec 4.6): one of `linkId`, `externalId`, `domain` with or without `key`. */
export const linkInfoQuerySchema = z.object({
  linkId: queryText,
  externalId: queryText,
  domain: queryText,
  key: queryText,
});
export type LinkInfoQuery = z.infer<typeof linkInfoQuerySchema>;
