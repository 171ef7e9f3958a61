import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from './errors.js';

/** Longest URL anywhere in a link (spec 10.3). */
export const URL_CHARS_MAX = 32_000;

const url = z.string().max(URL_CHARS_MAX);
const text = z.string().max(URL_CHARS_MAX);
const words = z.union([z.string(), z.array(z.string())]);
const utm = z.string().trim().max(255).nullish();

/**
 * Body of `POST /links` (spec 4.2): types and lengths. What needs the workspace, its plan or other fields is checked
 * afterwards, in the order of spec 4.3. Unknown fields are ignored.
 */
export const createLinkBodySchema = z.object({
  url,
  domain: z.string().max(190).nullish(),
  key: z.string().max(190).nullish(),
  keyLength: z.int().min(3).max(190).nullish(),
  prefix: z.string().max(190).nullish(),
  externalId: z.string().min(1).max(255).nullish(),
  tenantId: z.string().max(255).nullish(),
  programId: z.string().nullish(),
  partnerId: z.string().nullish(),
  trackConversion: z.boolean().optional(),
  archived: z.boolean().optional(),
  publicStats: z.boolean().optional(),
  tagIds: words.nullish(),
  tagNames: words.nullish(),
  tagId: z.string().nullish(),
  folderId: z.string().nullish(),
  comments: text.nullish(),
  expiresAt: z.string().nullish(),
  expiredUrl: url.nullish(),
  password: z.string().max(1000).nullish(),
  proxy: z.boolean().optional(),
  title: text.nullish(),
  description: text.nullish(),
  image: z.string().nullish(),
  video: url.nullish(),
  rewrite: z.boolean().optional(),
  doIndex: z.boolean().optional(),
  ios: url.nullish(),
  android: url.nullish(),
  geo: z.record(z.string(), url).nullish(),
  utm_source: utm,
  utm_medium: utm,
  utm_campaign: utm,
  utm_term: utm,
  utm_content: utm,
  ref: utm,
  testVariants: z
    .array(z.object({ url, percentage: z.number().min(10).max(90) }))
    .min(2)
    .max(4)
    .nullish(),
  testStartedAt: z.string().nullish(),
  testCompletedAt: z.string().nullish(),
  webhookIds: z.array(z.string()).nullish(),
});
export type CreateLinkBody = z.infer<typeof createLinkBodySchema>;

/** Body of `PATCH /links/{linkId}` (spec 4.7): what is absent stays as it is. */
export const updateLinkBodySchema = createLinkBodySchema.omit({ keyLength: true, prefix: true }).partial();
export type UpdateLinkBody = z.infer<typeof updateLinkBodySchema>;

/** Most links of one bulk request (spec 10.3). */
export const BULK_LINKS_MAX = 100;

/** Body of `POST /links/bulk` (spec 4.5). */
export const bulkCreateLinksBodySchema = z.array(createLinkBodySchema).min(1).max(BULK_LINKS_MAX);

/** A link of a bulk request that was not created, and why. */
export const linkErrorSchema = z.strictObject({
  link: createLinkBodySchema,
  error: z.string(),
  code: z.enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]),
});
export type LinkError = z.infer<typeof linkErrorSchema>;

const references = z.array(z.string()).max(BULK_LINKS_MAX);

/** Body of `PATCH /links/bulk` (spec 4.7); `linkIds` wins. */
export const bulkUpdateLinksBodySchema = z.object({
  linkIds: references.optional(),
  externalIds: references.optional(),
  data: updateLinkBodySchema.omit({ domain: true, key: true, externalId: true }),
});
export type BulkUpdateLinksBody = z.infer<typeof bulkUpdateLinksBodySchema>;
