import {
  EVENT_RETENTION_DAYS_MIN,
  planSchema,
  privacySignalSchema,
  quotasSchema,
  roleSchema,
  scopeSchema,
  TAG_COLORS,
  testVariantsSchema,
  webhookLinkScopeSchema,
} from '@waymark/contract';
import { z } from 'zod';
import { common, recordSchema, text, time } from './record-fields.js';

/**
 * The records of each type, as they are stored as JSON in the column `data` of their tables. Ids are public ids (`link_…`), times are
 * ISO 8601 in UTC with milliseconds.
 */

export const workspaceRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  slug: z.string(),
  plan: planSchema,
  /** Host names from which browsers may send events; empty = all. */
  allowedHostnames: z.array(z.string()),
  /** Overrides of the plan's limits; null = the plan's own. */
  requestsPerMinute: z.int().min(1).nullable(),
  analyticsPerSecond: z.int().min(0).nullable(),
  /** Overrides of the plan's quotas, field by field. */
  quotas: recordSchema(quotasSchema.partial().shape),
  defaultProgramId: text,
  publishableKeyHash: text,
  /** Number of its queue shard; it never changes. Absent = 0, so that releases without queue shards can read the record. */
  queueShard: z.int().min(1).optional(),
  /**
   * Days after which events are deleted, if that is earlier than in the whole installation. Null = it was set and is not any more: events
   * may be missing that the counters of links include. Absent = never set, so that releases without this field can read the record.
   */
  eventRetentionDays: z.int().min(EVENT_RETENTION_DAYS_MIN).nullable().optional(),
  /** Days after which the IP addresses of visitors are emptied, with null and absent as above. */
  addressRetentionDays: z.int().min(1).nullable().optional(),
  /** Absent = `ignore`, so that releases without this field can read the record. */
  privacySignal: privacySignalSchema.optional(),
  /**
   * Set once clicks with ids of another system have been imported; absent = never, so that releases without this field can read the record.
   */
  hasClickAliases: z.literal(true).optional(),
});
export type WorkspaceRecord = z.infer<typeof workspaceRecordSchema>;

export const apiKeyRecordSchema = recordSchema({
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

export const domainRecordSchema = recordSchema({
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
  /** The previous slug, while links are being moved from it. */
  movedFrom: text.default(null),
});
export type DomainRecord = z.infer<typeof domainRecordSchema>;

const count = z.int().min(0);
/** What another system had counted for a link before it was imported. It is added to the counters of the link, and to no other count. */
const linkBaselineSchema = recordSchema({
  source: z.string(),
  importedAt: time,
  clicks: count,
  leads: count,
  conversions: count,
  sales: count,
  /** Cents of USD. */
  saleAmount: count,
  /** Set when past events of the link have been imported, which its counters include: then all counts of the baseline are and stay 0. */
  areEvents: z.literal(true).optional(),
});
export type LinkBaseline = z.infer<typeof linkBaselineSchema>;

export const linkRecordSchema = recordSchema({
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
  /** Encrypted with the instance key (AES-256-GCM). */
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
  testVariants: z.array(recordSchema(testVariantsSchema.element.shape)).nullable(),
  testStartedAt: text,
  testCompletedAt: text,
  userId: text,
  webhookIds: z.array(z.string()),
  /** Absent for links that were not imported with their history. */
  baseline: linkBaselineSchema.optional(),
});
export type LinkRecord = z.infer<typeof linkRecordSchema>;

export const customerRecordSchema = recordSchema({
  ...common,
  externalId: z.string(),
  name: text,
  email: text,
  avatar: text,
  stripeCustomerId: text,
  country: text,
  /** The click that brought the customer first, and its link. */
  clickId: text,
  linkId: text,
  programId: text,
  partnerId: text,
  clickedAt: time.nullable(),
  subscriptionCanceledAt: time.nullable(),
});
export type CustomerRecord = z.infer<typeof customerRecordSchema>;

export const tagRecordSchema = recordSchema({ ...common, name: z.string(), color: z.enum(TAG_COLORS) });
export type TagRecord = z.infer<typeof tagRecordSchema>;

export const folderRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  description: text,
  type: z.enum(['default', 'mega']),
  /** What all members of the workspace may do with the folder; null = only owners have access. */
  accessLevel: z.enum(['write', 'read']).nullable(),
});
export type FolderRecord = z.infer<typeof folderRecordSchema>;

/** A webhook: which events are sent to which URL. Older records also have a list of links. */
export const webhookRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  url: z.string(),
  /** The signing secret, encrypted with the instance key. */
  encryptedSecret: z.string(),
  /** Those that only a later release has match no event of this one, and are kept. */
  triggers: z.array(z.string()),
  /** Null = the webhook receives no clicks. */
  linkScope: webhookLinkScopeSchema.nullable(),
  folderIds: z.array(z.string()),
  /** The webhook has left the scope `links`, and links may still list it. */
  hasLinksToDetach: z.boolean().default(false),
  /** Number of consecutive failed attempts at the time when the webhook was disabled. While it is enabled, Redis counts them. */
  consecutiveFailures: z.int().min(0),
  disabledAt: time.nullable(),
});
export type WebhookRecord = z.infer<typeof webhookRecordSchema>;

/** The partner program of a workspace. */
export const programRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  /** Domain of new partner links; null until the first one on a domain of the workspace, which stays that of the program. */
  domainId: text,
  /** Folder of partner links whose request names none; null = no folder. */
  defaultFolderId: text.default(null),
  /** Destination of partner links whose request names none; null = the domain of these links. */
  url: text,
  defaultGroupId: z.string(),
});
export type ProgramRecord = z.infer<typeof programRecordSchema>;

export const utmTemplateRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  utm_source: text,
  utm_medium: text,
  utm_campaign: text,
  utm_term: text,
  utm_content: text,
  ref: text,
});
export type UtmTemplateRecord = z.infer<typeof utmTemplateRecordSchema>;

/** A group of partners. */
export const groupRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  slug: z.string(),
  color: text,
  programId: text,
});
export type GroupRecord = z.infer<typeof groupRecordSchema>;

export const partnerTagRecordSchema = recordSchema({ ...common, name: z.string() });
export type PartnerTagRecord = z.infer<typeof partnerTagRecordSchema>;

/** A partner in the program of a workspace: the person and their enrolment in one record. */
export const partnerRecordSchema = recordSchema({
  ...common,
  name: z.string(),
  username: text,
  email: text,
  image: text,
  country: text,
  companyName: text,
  description: text,
  tenantId: text,
  groupId: text,
  programId: text,
  partnerTagIds: z.array(z.string()),
  networkStatus: z.enum(['draft', 'submitted', 'approved', 'rejected', 'trusted']),
  status: z.enum(['pending', 'approved', 'rejected', 'invited', 'declined', 'deactivated', 'banned', 'archived']),
  /** When the partner was banned or deactivated, according to `status`. */
  bannedAt: time.nullable(),
  bannedReason: text,
  /** The answers of the application form. */
  applicationFormData: z
    .array(recordSchema({ label: z.string(), value: text }))
    .nullable()
    .default(null),
  rejection: recordSchema({
    reason: text,
    note: text,
    timeframe: text,
    isFraud: z.boolean(),
    fraudReason: text,
    at: time,
  })
    .nullable()
    .default(null),
});
export type PartnerRecord = z.infer<typeof partnerRecordSchema>;
