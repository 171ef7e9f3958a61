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
  id: z.string().describe('Id of the workspace, `ws_…`.'),
  name: z.string().describe('Name of the workspace.'),
  slug: z.string().describe('Name of the workspace in addresses.'),
  plan: planSchema.describe('Plan of the workspace.'),
  usage: count.describe('Clicks, leads and sales of the calendar month (UTC), up to half a minute old.'),
  usageLimit: limit.describe('Most events of a month; `null` = unlimited.'),
  linksUsage: count.describe('Links that were created in the calendar month (UTC), deleted ones included.'),
  linksLimit: limit.describe('Most links that can be created in a month; `null` = unlimited.'),
  domainsLimit: limit.describe('Most domains; `null` = unlimited.'),
  tagsLimit: limit.describe('Most tags; `null` = unlimited.'),
  foldersLimit: limit.describe('Most folders; `null` = unlimited.'),
  partnersLimit: limit.describe('Most partners; `null` = unlimited.'),
  partnerTagsLimit: limit.describe('Most partner tags; `null` = unlimited.'),
  groupsLimit: limit.describe('Most groups of partners; `null` = unlimited.'),
  requestsPerMinute: count.describe('Most requests of a key in a minute.'),
  analyticsPerSecond: count.describe('Most requests of a key to events and analytics in a second.'),
  allowedHostnames: z
    .array(z.string())
    .describe('Hosts of the pages that may report events with a publishable key; empty = all.'),
  defaultProgramId: z.string().nullable().describe('Id of the partner program.'),
  eventRetentionDays: count
    .nullable()
    .describe('Days after which events are deleted; `null` = as in the whole installation.'),
  addressRetentionDays: count
    .nullable()
    .describe('Days after which addresses of visitors are removed; `null` = as in the whole installation.'),
  privacySignal: privacySignalSchema.describe(
    'What happens to clicks of visitors who send `Sec-GPC: 1` or `DNT: 1`: nothing special (`ignore`), counted without data of the visitor (`no-id`), or not recorded (`no-track`).',
  ),
  createdAt: z.string().describe('When the workspace was created.'),
  updatedAt: z.string().describe('When the workspace was last changed.'),
});
export type Workspace = z.infer<typeof workspaceSchema>;
