import { z } from 'zod';
import { planSchema } from './plans.js';

/**
 * How a workspace treats clicks of visitors who ask not to be tracked. `ignore`: like all other clicks; `no-id`: they are counted without
 * data that identifies the visitor; `no-track`: they are not recorded.
 */
export const PRIVACY_SIGNALS = ['ignore', 'no-id', 'no-track'] as const;
export const privacySignalSchema = z.enum(PRIVACY_SIGNALS);
export type PrivacySignal = z.infer<typeof privacySignalSchema>;

/** Events may arrive up to thirty days late, and are then compared with stored events, which must not have expired by that time. */
export const EVENT_RETENTION_DAYS_MIN = 31;
export const RETENTION_DAYS_MAX = 36_500;

const count = z.int().min(0);
/** Null = unlimited. */
const limit = count.nullable();

/** The workspace of a key: its plan, its usage this month and its effective limits. */
export const workspaceSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  plan: planSchema,
  /** Clicks, leads and sales of the calendar month (UTC), up to half a minute old. */
  usage: count,
  usageLimit: limit,
  /** Links created in the calendar month, including deleted ones. */
  linksUsage: count,
  linksLimit: limit,
  domainsLimit: limit,
  tagsLimit: limit,
  foldersLimit: limit,
  partnersLimit: limit,
  partnerTagsLimit: limit,
  groupsLimit: limit,
  requestsPerMinute: count,
  analyticsPerSecond: count,
  allowedHostnames: z.array(z.string()),
  defaultProgramId: z.string().nullable(),
  /** Days after which events are deleted, and after which addresses of visitors are emptied; null = as in the whole installation. */
  eventRetentionDays: count.nullable(),
  addressRetentionDays: count.nullable(),
  /** What happens to clicks of visitors who send `Sec-GPC: 1` or `DNT: 1`. */
  privacySignal: privacySignalSchema,
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type Workspace = z.infer<typeof workspaceSchema>;
