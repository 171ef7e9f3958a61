import { fieldError } from '@waymark/contract';

/**
 * Limit on the characters of a link as answers show it, as JSON, without its image, which has a limit of its own. Lists and pages of events
 * contain whole links, so a thousand links of this size must fit into the memory of a process.
 */
const LINK_CHARS_MAX = 65_000;
/** Characters of a tag with the longest name in an answer. All count as much, because they can be renamed later. */
const TAG_CHARS_MAX = 450;
/** A text that has so many characters in a list, with quotes and comma. */
const LONGEST_TAG = 'x'.repeat(TAG_CHARS_MAX - '"",'.length);

type LinkFields = Readonly<Record<string, unknown>>;

/** The fields that count, with tags as long as they may be shown. */
function countedFields({ image: _image, ...fields }: LinkFields): LinkFields {
  return Array.isArray(fields.tagIds) ? { ...fields, tagIds: fields.tagIds.map(() => LONGEST_TAG) } : fields;
}

const charsOf = (link: LinkFields): number => JSON.stringify(countedFields(link)).length;

/** As {@link charsOf}, but with the ids of tags in place of their names. */
const storedCharsOf = ({ image: _image, ...fields }: LinkFields): number => JSON.stringify(fields).length;

const tagsOf = ({ tagIds }: LinkFields): number => (Array.isArray(tagIds) ? tagIds.length : 0);

/** Whether a link that is too long may be stored: it grows neither in characters nor, where its tags are what is too much, in their number. */
function mayStay(link: LinkFields, before: LinkFields): boolean {
  if (charsOf(link) <= charsOf(before)) return true;
  return tagsOf(link) <= tagsOf(before) && storedCharsOf(link) <= LINK_CHARS_MAX;
}

function longestField(link: LinkFields): string {
  const lengths = Object.entries(countedFields(link)).map(
    ([name, value]) => [name, JSON.stringify(value ?? null).length] as const,
  );
  return lengths.reduce((longest, each) => (each[1] > longest[1] ? each : longest))[0];
}

/**
 * Checks the size of a new or changed link. A link from an earlier release may be larger than the limit, but no change may make it grow, or
 * give it more tags.
 *
 * @param before the link before the change; undefined for a new one
 * @throws ApiError unprocessable_entity that names the longest field
 */
export function checkLinkSize(link: LinkFields, before?: LinkFields): void {
  const chars = charsOf(link);
  if (chars <= LINK_CHARS_MAX || (before !== undefined && mayStay(link, before))) return;
  const rule = `makes the link too long: its fields together must have at most ${LINK_CHARS_MAX} characters as JSON, ${TAG_CHARS_MAX} for each tag, without the image`;
  throw fieldError('too_big', longestField(link), rule);
}
