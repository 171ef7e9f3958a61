import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { queryBoolean, queryText } from '../values/query-values.js';
import { IMAGE_FIELD_CHARS_MAX } from './image-data-url.js';

/** The domain object of every response. */
export const domainSchema = z.strictObject({
  id: z.string().describe('Id of the domain, `dom_…`.'),
  slug: z.string().describe('Name of the domain, such as `go.acme.com`.'),
  verified: z.boolean().describe('Always `true`.'),
  primary: z.boolean().describe('Whether links that name no domain are created on this one.'),
  archived: z.boolean().describe('Whether all links of the domain are out of service.'),
  placeholder: z.string().nullable().describe('URL that forms show as an example; stored and shown.'),
  expiredUrl: z.string().nullable().describe('Where visits of expired links of the workspace go.'),
  notFoundUrl: z.string().nullable().describe('Where visits of links that do not exist go.'),
  logo: z.string().nullable().describe('Logo for the QR codes of the domain’s links: a URL or a data URL.'),
  assetLinks: z.string().nullable().describe('Content of `/.well-known/assetlinks.json` on the domain.'),
  appleAppSiteAssociation: z
    .string()
    .nullable()
    .describe('Content of `/.well-known/apple-app-site-association` on the domain.'),
  createdAt: z.string().describe('When the domain was created.'),
  updatedAt: z.string().describe('When the domain was last changed.'),
  registeredDomain: z
    .strictObject({
      id: z.string().describe('Id of the registration.'),
      autoRenewalDisabledAt: z.string().nullable().describe('Since when the registration is not renewed.'),
      createdAt: z.string().describe('When the domain was registered.'),
      expiresAt: z.string().describe('When the registration ends.'),
      renewalFee: z.number().describe('Price of a renewal, in cents of USD.'),
    })
    .nullable()
    .describe('Always `null`: domains cannot be registered here.'),
});
export type Domain = z.infer<typeof domainSchema>;

/** Apple reads at most 128 kB. */
const ASSOCIATION_CHARS_MAX = 128 * 1024;
/** Longest `placeholder`, as sent and as stored. */
export const PLACEHOLDER_CHARS_MAX = 100;
const url = z.string().max(URL_CHARS_MAX).nullish();

/** Body of `PATCH /domains/{slug}`; absent fields stay unchanged. Only types and lengths are checked here, the content of texts later. */
export const updateDomainBodySchema = z.object({
  slug: z
    .string()
    .min(1)
    .max(190)
    .optional()
    .describe(
      'Host name without `www.`, such as `go.acme.com`; unique among all workspaces. A change moves all links.',
    ),
  expiredUrl: url.describe('Where visits of expired links of the workspace go, unless the link has an `expiredUrl`.'),
  notFoundUrl: url.describe('Where visits of links that do not exist go.'),
  placeholder: z
    .string()
    .max(PLACEHOLDER_CHARS_MAX)
    .nullish()
    .describe('URL that forms show as an example; stored and shown.'),
  archived: z.boolean().optional().describe('Whether all links of the domain are out of service.'),
  logo: z
    .string()
    .max(IMAGE_FIELD_CHARS_MAX)
    .nullish()
    .describe(
      'Logo for the QR codes of the domain’s links: a URL, or a data URL of at most 100,000 characters. Codes are drawn with PNGs only; other images are left out of them.',
    ),
  assetLinks: z
    .string()
    .max(ASSOCIATION_CHARS_MAX)
    .nullish()
    .describe('JSON text, served at `/.well-known/assetlinks.json` on the domain.'),
  appleAppSiteAssociation: z
    .string()
    .max(ASSOCIATION_CHARS_MAX)
    .nullish()
    .describe('JSON text, served at `/.well-known/apple-app-site-association` on the domain.'),
});
export type UpdateDomainBody = z.infer<typeof updateDomainBodySchema>;

/** Body of `POST /domains`. */
export const createDomainBodySchema = updateDomainBodySchema.required({ slug: true });

/** Query of `GET /domains`; sorted by creation, oldest first, by default. */
export const listDomainsQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'slug'], 'asc'),
  ...pageShape({ pageSizeDefault: 50 }),
  archived: queryBoolean.describe('`true` lists archived domains, too.'),
  search: queryText.describe('Part of the name of the domain, in any case.'),
});
