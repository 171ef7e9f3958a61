import { z } from 'zod';

/** Longer parts of a path lead nowhere. */
export const PARAM_CHARS_MAX = 4096;

/** Path of one resource. */
export const idParamsSchema = z.object({ id: z.string().max(PARAM_CHARS_MAX) });

/** What a deletion answers. */
export const idAnswerSchema = z.strictObject({ id: z.string() });
