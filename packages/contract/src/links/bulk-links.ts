import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from '../http/errors.js';
import { jsonValueSchema } from '../values/json-value.js';
import { linkSchema } from './link.js';
import { createLinkBodySchema, updateLinkBodySchema } from './link-body.js';

/** Maximum number of links of one bulk request. */
export const BULK_LINKS_MAX = 100;

/** Body of `POST /links/bulk`. */
export const bulkCreateLinksBodySchema = z.array(createLinkBodySchema).min(1).max(BULK_LINKS_MAX);

/** The fields that say why a bulk request did not process one of its links. */
const bulkError = {
  error: z.string().describe('Why the link was left out.'),
  code: z.enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]).describe('Error code of the reason.'),
};

/** A link of a bulk request that was not created, and why. */
export const linkErrorSchema = z.strictObject({
  link: z.record(z.string(), jsonValueSchema).describe('The link as it was sent, with all of its members.'),
  ...bulkError,
});
export type LinkError = z.infer<typeof linkErrorSchema>;

/** A link of a bulk request that was not deleted, and why. */
const undeletedLinkSchema = z.strictObject({
  link: z.strictObject({ id: z.string().describe('Id of the link.') }).describe('The link that was left out.'),
  ...bulkError,
});
export type UndeletedLink = z.infer<typeof undeletedLinkSchema>;

/** Response of `DELETE /links/bulk`; `errors` is present only when there are any. */
export const bulkDeleteAnswerSchema = z.strictObject({
  deletedCount: z.number().describe('Number of deleted links.'),
  errors: z
    .array(undeletedLinkSchema)
    .optional()
    .describe('The links that were not deleted; absent when there are none.'),
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
  linkIds: references.optional().describe('Ids of the links, `link_…`; they take precedence over `externalIds`.'),
  externalIds: references
    .optional()
    .describe('Your own ids of the links; `ext_` in front is taken off, unless a link has the id with it.'),
  data: updateLinkBodySchema
    .omit({ domain: true, key: true, externalId: true })
    .describe('The changes that all of these links get.'),
});
export type BulkUpdateLinksBody = z.infer<typeof bulkUpdateLinksBodySchema>;
