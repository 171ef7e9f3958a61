import { z } from 'zod';
import { planSchema } from './plans.js';

const count = z.int().min(0);
/** Null = unlimited. */
const limit = count.nullable();

/** The workspace of a key: its plan, what it has used this month, and its limits as they apply. */
export const workspaceSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  plan: planSchema,
  /** Clicks, leads and sales of the calendar month (UTC), up to half a minute old. */
  usage: count,
  usageLimit: limit,
  /** Links made in the calendar month, removed ones included. */
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
