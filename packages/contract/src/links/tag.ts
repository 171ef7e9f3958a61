import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryList, queryText } from '../values/query-values.js';
import { TAG_COLORS } from './link.js';

/** Maximum characters of the name of a tag, a folder or a UTM template. */
export const RESOURCE_NAME_CHARS_MAX = 190;
// A NUL character is refused everywhere, by a rule of its own. Not every reader of the OpenAPI document supports `\P{Cc}`.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused.
const NO_CONTROL_CHARACTERS = /^[^\x01-\x1f\x7f-\x9f]*$/;
/** In JSON, control characters have six characters. A link is shown with the names of its tags: see `packages/link-rules/src/link-size.ts`. */
export const resourceName = z
  .string()
  .trim()
  .min(1)
  .max(RESOURCE_NAME_CHARS_MAX)
  .regex(NO_CONTROL_CHARACTERS, { error: 'must have no control characters' });

/** Body of `POST /tags` and `PATCH /tags/{id}`; `POST` requires `name` or `tag`. */
export const tagBodySchema = z.object({
  name: resourceName.optional().describe('Name of the tag, unique in the workspace in any case.'),
  tag: resourceName.optional().describe('Deprecated: the same as `name`; takes precedence over it.'),
  color: z.enum(TAG_COLORS).optional().describe('Colour of the tag; random by default.'),
});
export type TagBody = z.infer<typeof tagBodySchema>;

/** Query of `GET /tags`; sorted by name, ascending, by default. */
export const listTagsQuerySchema = closedQuery({
  ...sortShape(['name', 'createdAt'], 'asc'),
  ...pageShape(),
  search: queryText.describe('Part of the name of the tag, in any case.'),
  ids: queryList.describe('Only the tags with these ids.'),
});
