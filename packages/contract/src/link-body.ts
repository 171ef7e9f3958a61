import { z } from 'zod';

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
