import { z } from 'zod';
import { planSchema } from './plans.js';

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
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type Workspace = z.infer<typeof workspaceSchema>;
