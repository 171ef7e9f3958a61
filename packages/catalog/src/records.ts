import { planSchema, quotasSchema, roleSchema, scopeSchema, testVariantsSchema } from '@waymark/contract';
import { z } from 'zod';

/**
 * What the catalog stores: one record type a kind, kept as JSON in the `data` column of its table. Ids are public ids
 * (`link_…`), times ISO-8601 UTC with milliseconds.
 */

const text = z.string().nullable();
const time = z.iso.datetime();

const common = { id: z.string(), workspaceId: z.string(), createdAt: time, updatedAt: time };

export const workspaceRecordSchema = z.strictObject({
  ...common,
  name: z.string(),
  slug: z.string(),
  plan: planSchema,
  /** Hosts that may call the browser endpoints; empty = all (spec 6.1). */
  allowedHostnames: z.array(z.string()),
  /** Overrides of the plan's limits; null = the plan's own. */
  requestsPerMinute: z.int().min(1).nullable(),
  analyticsPerSecond: z.int().min(0).nullable(),
  /** Overrides of the plan's quotas, field by field. */
  quotas: quotasSchema.partial(),
  defaultProgramId: text,
  publishableKeyHash: text,
});
export type WorkspaceRecord = z.infer<typeof workspaceRecordSchema>;

export const apiKeyRecordSchema = z.strictObject({
  ...common,
  name: z.string(),
  /** SHA-256 of the whole key, hex. The key itself is stored nowhere. */
  keyHash: z.string(),
  /** `dub...` and the last four characters, for display. */
  partialKey: z.string(),
  kind: z.enum(['secret', 'publishable']),
  role: roleSchema,
  scopes: z.array(scopeSchema),
  userId: text,
  expiresAt: time.nullable(),
});
export type ApiKeyRecord = z.infer<typeof apiKeyRecordSchema>;

export const domainRecordSchema = z.strictObject({
  ...common,
  slug: z.string(),
  verified: z.boolean(),
  primary: z.boolean(),
  archived: z.boolean(),
  placeholder: text,
  expiredUrl: text,
  notFoundUrl: text,
  logo: text,
  assetLinks: text,
  appleAppSiteAssociation: text,
});
export type DomainRecord = z.infer<typeof domainRecordSchema>;

export const linkRecordSchema = z.strictObject({
  ...common,
  domain: z.string(),
  /** As stored: case kept, non-ASCII in punycode. */
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
  /** Encrypted with the instance key (AES-256-GCM); never in the clear. */
  encryptedPassword: text,
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
  tagIds: z.array(z.string()),
  folderId: text,
  comments: text,
  utm_source: text,
  utm_medium: text,
  utm_campaign: text,
  utm_term: text,
  utm_content: text,
  testVariants: testVariantsSchema.nullable(),
  testStartedAt: text,
  testCompletedAt: text,
  userId: text,
  webhookIds: z.array(z.string()),
});
export type LinkRecord = z.infer<typeof linkRecordSchema>;

export const customerRecordSchema = z.strictObject({
  ...common,
  externalId: z.string(),
  name: text,
  email: text,
  avatar: text,
  stripeCustomerId: text,
  country: text,
  /** First touch: the click that brought the customer, and its link. */
  clickId: text,
  linkId: text,
  programId: text,
  partnerId: text,
  clickedAt: time.nullable(),
  subscriptionCanceledAt: time.nullable(),
});
export type CustomerRecord = z.infer<typeof customerRecordSchema>;
