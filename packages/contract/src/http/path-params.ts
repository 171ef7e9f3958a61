import { z } from 'zod';

/** Longest path parameter; the router answers 404 for longer ones. Keys are up to 190 characters, each up to 12 once percent-encoded. */
export const PARAM_CHARS_MAX = 4096;

/** Path parameters of the route of one resource. */
export const idParamsSchema = z.object({ id: z.string().max(PARAM_CHARS_MAX).describe('Id of the resource.') });

/** As {@link idParamsSchema}, for resources that callers can also name by their own id. */
export const ownIdParamsSchema = z.object({
  id: z.string().max(PARAM_CHARS_MAX).describe('Id of the resource, or `ext_` and your own id.'),
});

/** Response of a deletion: the id of the removed resource. */
export const idAnswerSchema = z.strictObject({ id: z.string().describe('Id of the resource.') });
