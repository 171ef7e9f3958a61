import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from '../errors.js';
import { linkSchema } from './link.js';
import { createLinkBodySchema, updateLinkBodySchema } from './link-body.js';

/** Most links of one bulk request. */
export const BULK_LINKS_MAX = 100;

/** Body of `POST /links/bulk`. */
export const bulkCreateLinksBodySchema = z.array(createLinkBodySchema).min(1).max(BULK_LINKS_MAX);

/** The fields that say why a bulk request did not process one of its links. */
const bulkError = {
  error: z.string(),
  code: z.enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]),
};

/** A link of a bulk request that was not created, and why. */
export const linkErrorSchema = z.strictObject({ link: createLinkBodySchema, ...bulkError });
export type LinkError = z.infer<typeof linkErrorSchema>;

/** A link of a bulk request that was not deleted, and why. */
const undeletedLinkSchema = z.strictObject({ link: z.strictObject({ id: z.string() }), ...bulkError });
export type UndeletedLink = z.infer<typeof undeletedLinkSchema>;

/** Response of `DELETE /links/bulk`; `errors` is present only when there are any. */
export const bulkDeleteAnswerSchema = z.strictObject({
  deletedCount: z.number(),
  errors: z.array(undeletedLinkSchema).optional(),
});
export type BulkDeleteAnswer = z.infer<typeof bulkDeleteAnswerSchema>;

/**
 * A link of a bulk request that was not updated, and why. It contains all fields of the link, because SDKs parse every item of the
 * response as a link.
 */
export const unchangedLinkSchema = linkSchema.extend(undeletedLinkSchema.shape);
export type UnchangedLink = z.infer<typeof unchangedLinkSchema>;

const references = z.array(z.string().max(300)).max(BULK_LINKS_MAX);

/** Body of `PATCH /links/bulk`; `linkIds` takes precedence over `externalIds`. */
export const bulkUpdateLinksBodySchema = z.object({
  linkIds: references.optional(),
  externalIds: references.optional(),
  data: updateLinkBodySchema.omit({ domain: true, key: true, externalId: true }),
});
export type BulkUpdateLinksBody = z.infer<typeof bulkUpdateLinksBodySchema>;
