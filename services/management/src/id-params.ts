import { z } from 'zod';

/** Longest path parameter; the router answers 404 for longer ones. */
export const PARAM_CHARS_MAX = 4096;

/** Path parameters of a single resource. */
export const idParamsSchema = z.object({ id: z.string().max(PARAM_CHARS_MAX) });

/** Response of a deletion. */
export const idAnswerSchema = z.strictObject({ id: z.string() });
