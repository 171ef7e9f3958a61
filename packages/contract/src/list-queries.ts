import { z } from 'zod';
import { queryBoolean, queryInteger, queryText } from './query-values.js';

/** Query of `GET /links/info` (spec 4.6): one of `linkId`, `externalId`, `domain` with or without `key`. */
export const linkInfoQuerySchema = z.object({
  linkId: queryText,
  externalId: queryText,
  domain: queryText,
  key: queryText,
});
export type LinkInfoQuery = z.infer<typeof linkInfoQuerySchema>;

/** Query of `GET /domains` (spec 5.1). */
export const listDomainsQuerySchema = z.object({
  archived: queryBoolean,
  search: queryText,
  page: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 }),
  pageSize: queryInteger({ min: 1, max: 100, default: 50 }),
});
