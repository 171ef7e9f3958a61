import { z } from 'zod';

/** Fields that records of several types have. */

/** A text that may be absent; null = none. */
export const text = z.string().nullable();
/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

/** The fields of `CatalogRecord`. */
export const common = { id: z.string(), workspaceId: z.string(), createdAt: time, updatedAt: time };

/**
 * The schema of a record, or of an object in one. Fields that only a later release has are accepted, and changes keep them: during an upgrade, and after a return to
 * the release before, both releases read and change the same records.
 */
export function recordSchema<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  // Without the index signature of a loose object, so that code can use only the fields of this release.
  return z.looseObject(shape) as unknown as z.ZodObject<Shape>;
}
