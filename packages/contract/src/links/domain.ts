import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { queryBoolean, queryText } from '../values/query-values.js';

/** The domain object of every response. */
export const domainSchema = z.strictObject({
  id: z.string(),
  slug: z.string(),
  verified: z.boolean(),
  primary: z.boolean(),
  archived: z.boolean(),
  placeholder: z.string().nullable(),
  expiredUrl: z.string().nullable(),
  notFoundUrl: z.string().nullable(),
  logo: z.string().nullable(),
  assetLinks: z.string().nullable(),
  appleAppSiteAssociation: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  registeredDomain: z
    .strictObject({
      id: z.string(),
      autoRenewalDisabledAt: z.string().nullable(),
      createdAt: z.string(),
      expiresAt: z.string(),
      renewalFee: z.number(),
    })
    .nullable(),
});
export type Domain = z.infer<typeof domainSchema>;

/** As many characters as a request body may have; the actual limit of an image is checked when it is decoded. */
const IMAGE_CHARS_MAX = 1024 * 1024;
/** Apple reads at most 128 kB. */
const ASSOCIATION_CHARS_MAX = 128 * 1024;
const url = z.string().max(URL_CHARS_MAX).nullish();

/** Body of `PATCH /domains/{slug}`; absent fields stay unchanged. Only types and lengths are checked here, the content of texts later. */
export const updateDomainBodySchema = z.object({
  slug: z.string().min(1).max(190).optional(),
  expiredUrl: url,
  notFoundUrl: url,
  placeholder: z.string().max(100).nullish(),
  archived: z.boolean().optional(),
  logo: z.string().max(IMAGE_CHARS_MAX).nullish(),
  assetLinks: z.string().max(ASSOCIATION_CHARS_MAX).nullish(),
  appleAppSiteAssociation: z.string().max(ASSOCIATION_CHARS_MAX).nullish(),
});
export type UpdateDomainBody = z.infer<typeof updateDomainBodySchema>;

/** Body of `POST /domains`. */
export const createDomainBodySchema = updateDomainBodySchema.required({ slug: true });

/** Query of `GET /domains`; sorted by creation, oldest first, by default. */
export const listDomainsQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'slug']),
  ...pageShape({ pageSizeDefault: 50 }),
  archived: queryBoolean,
  search: queryText,
});
