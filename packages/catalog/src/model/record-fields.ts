import { z } from 'zod';

/** Fields that records of several types have. */

/** A text that may be absent; null = none. */
export const text = z.string().nullable();
/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

/** The fields of `CatalogRecord`. */
export const common = { id: z.string(), workspaceId: z.string(), createdAt: time, updatedAt: time };
