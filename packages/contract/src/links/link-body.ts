import { z } from 'zod';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { DATE_CHARS_MAX, DATE_FORMS } from '../values/query-values.js';
import { eachUtmField } from './utm.js';

/** As many characters as a request body may have; the actual limit of an image is checked when it is decoded. */
const IMAGE_CHARS_MAX = 1024 * 1024;

const url = z.string().max(URL_CHARS_MAX);
const text = z.string().max(URL_CHARS_MAX);
const nameText = z.string().max(255);
/** Most tags or webhooks of one link. */
const LIST_ITEMS_MAX = 1000;
/** A list, as CSV or as a JSON array. */
const csvOrList = z.union([z.string().max(URL_CHARS_MAX), z.array(nameText).max(LIST_ITEMS_MAX)]);
const utm = z.string().trim().max(255).nullish();
const date = z
  .string()
  .max(DATE_CHARS_MAX)
  .nullish()
  .describe(
    `${DATE_FORMS}, in UTC. A day means its noon, a longer period its first moment, \`in 7 days\` the exact time.`,
  );

/**
 * Body of `POST /links` (docs/reference/links.md). Only types and lengths are checked here; `packages/link-rules` checks the rules that
 * need the workspace, its plan or other fields. Unknown fields are ignored.
 */
export const createLinkBodySchema = z.object({
  url,
  domain: z.string().max(190).nullish(),
  key: z.string().max(190).nullish(),
  keyLength: z.int().min(3).max(190).nullish(),
  prefix: z.string().max(190).nullish(),
  externalId: z.string().min(1).max(255).nullish(),
  tenantId: z.string().max(255).nullish(),
  programId: nameText.nullish(),
  partnerId: nameText.nullish(),
  trackConversion: z.boolean().optional(),
  archived: z.boolean().optional(),
  publicStats: z.boolean().optional(),
  tagIds: csvOrList.nullish(),
  tagNames: csvOrList.nullish(),
  tagId: nameText.nullish(),
  folderId: nameText.nullish(),
  comments: text.nullish(),
  expiresAt: date,
  expiredUrl: url.nullish(),
  password: z.string().max(1000).nullish(),
  proxy: z.boolean().optional(),
  title: text.nullish(),
  description: text.nullish(),
  image: z.string().max(IMAGE_CHARS_MAX).nullish(),
  video: url.nullish(),
  rewrite: z.boolean().optional(),
  doIndex: z.boolean().optional(),
  ios: url.nullish(),
  android: url.nullish(),
  geo: z.record(z.string().max(255), url).nullish(),
  ...eachUtmField(utm),
  testVariants: z
    .array(z.object({ url, percentage: z.number().min(10).max(90) }))
    .min(2)
    .max(4)
    .nullish(),
  testStartedAt: date,
  testCompletedAt: date,
  webhookIds: z.array(nameText).max(LIST_ITEMS_MAX).nullish(),
});
export type CreateLinkBody = z.infer<typeof createLinkBodySchema>;

/** Body of `PATCH /links/{linkId}`; absent fields stay unchanged. */
export const updateLinkBodySchema = createLinkBodySchema.omit({ keyLength: true, prefix: true }).partial();
export type UpdateLinkBody = z.infer<typeof updateLinkBodySchema>;
