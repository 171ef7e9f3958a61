import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { lastValue } from '../values/query-values.js';

/** Maximum characters of the texts that are read from a page; longer texts are truncated. */
export const META_TITLE_CHARS_MAX = 500;
export const META_DESCRIPTION_CHARS_MAX = 2000;

/** Query of `GET /links/metatags`. */
export const metatagsQuerySchema = closedQuery({
  url: z.preprocess(lastValue, z.string().min(1).max(URL_CHARS_MAX)).describe('Address of the page, http or https.'),
});

/** Response of `GET /links/metatags`: the preview texts and image of a page. Null = absent, or the page could not be read. */
export const metatagsSchema = z.strictObject({
  title: z.string().max(META_TITLE_CHARS_MAX).nullable().describe('Title of the page.'),
  description: z.string().max(META_DESCRIPTION_CHARS_MAX).nullable().describe('Description of the page.'),
  image: z.string().max(URL_CHARS_MAX).nullable().describe('URL of the preview image of the page.'),
});
export type Metatags = z.infer<typeof metatagsSchema>;
