import { z } from 'zod';

/** Fields that records of several types have. */

export const text = z.string().nullable();
/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

export const common = { id: z.string(), workspaceId: z.string(), createdAt: time, updatedAt: time };
