import { z } from 'zod';

/** Path of one resource. */
export const idParamsSchema = z.object({ id: z.string() });

/** What a deletion answers. */
export const idAnswerSchema = z.strictObject({ id: z.string() });
