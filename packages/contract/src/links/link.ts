import { z } from 'zod';

/** Key of the root link, that is the link of a domain itself (`https://go.acme.com/`). */
export const ROOT_KEY = '_root';

export const TAG_COLORS = ['red', 'yellow', 'green', 'blue', 'purple', 'brown', 'gray', 'pink'] as const;

/** The tag object of every response. */
export const tagSchema = z.strictObject({ id: z.string(), name: z.string(), color: z.enum(TAG_COLORS) });
export type Tag = z.infer<typeof tagSchema>;

/** The variants of an A/B test: their destinations, and the share of visits of each in percent. */
export const testVariantsSchema = z
  .array(z.strictObject({ url: z.string(), percentage: z.number().min(10).max(90) }))
  .min(2)
  .max(4);

/**
 * Responses show this mask in place of a password that the caller must not see. In the change of a link with a password it leaves that
 * password unchanged; otherwise it is refused.
 */
export const HIDDEN_PASSWORD = '********';

const text = z.string().nullable();

/** The link object of every response: exactly 51 fields. `saleAmount` is in cents of USD. */
export const linkSchema = z.strictObject({
  id: z.string(),
  domain: z.string(),
  key: z.string(),
  url: z.string(),
  trackConversion: z.boolean(),
  externalId: text,
  tenantId: text,
  programId: text,
  partnerId: text,
  archived: z.boolean(),
  expiresAt: text,
  expiredUrl: text,
  disabledAt: text,
  password: text.describe(`\`${HIDDEN_PASSWORD}\` for callers without links.write`),
  proxy: z.boolean(),
  title: text,
  description: text,
  image: text,
  video: text,
  rewrite: z.boolean(),
  doIndex: z.boolean(),
  ios: text,
  android: text,
  geo: z.record(z.string(), z.string()).nullable(),
  publicStats: z.boolean(),
  tags: z.array(tagSchema),
  folderId: text,
  comments: text,
  shortLink: z.string(),
  qrCode: z.string(),
  utm_source: text,
  utm_medium: text,
  utm_campaign: text,
  utm_term: text,
  utm_content: text,
  testVariants: testVariantsSchema.nullable(),
  testStartedAt: text,
  testCompletedAt: text,
  userId: text,
  workspaceId: z.string(),
  clicks: z.number(),
  leads: z.number(),
  conversions: z.number(),
  sales: z.number(),
  saleAmount: z.number(),
  lastClicked: text,
  createdAt: z.string(),
  updatedAt: z.string(),
  tagId: text,
  projectId: z.string(),
  webhookIds: z.array(z.string()),
});
export type Link = z.infer<typeof linkSchema>;
