import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { lastValue } from '../values/query-values.js';

/** Longest texts read from a page; the rest is cut off. */
export const META_TITLE_CHARS_MAX = 500;
export const META_DESCRIPTION_CHARS_MAX = 2000;

/** Query of `GET /links/metatags`. */
export const metatagsQuerySchema = closedQuery({
  url: z.preprocess(lastValue, z.string().min(1).max(URL_CHARS_MAX)),
});

/** The preview texts and image of a page; null = absent, or the page could not be read. */
export const metatagsSchema = z.strictObject({
  title: z.string().max(META_TITLE_CHARS_MAX).nullable(),
  description: z.string().max(META_DESCRIPTION_CHARS_MAX).nullable(),
  image: z.string().max(URL_CHARS_MAX).nullable(),
});
export type Metatags = z.infer<typeof metatagsSchema>;
