import { z } from 'zod';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { csvText, DATE_CHARS_MAX, DATE_FORMS } from '../values/query-values.js';
import { IMAGE_FIELD_CHARS_MAX } from './image-data-url.js';
import { linkKeySchema } from './link-key.js';
import { utmShape } from './utm.js';

/** To how many characters the title of a link's preview is cut. */
export const TITLE_CHARS_MAX = 120;
/** To how many characters the description of a link's preview is cut. */
export const DESCRIPTION_CHARS_MAX = 240;

const url = z.string().max(URL_CHARS_MAX);
const text = z.string().max(URL_CHARS_MAX);
const nameText = z.string().max(255);
/** Maximum number of tags or webhooks of one link. */
const LIST_ITEMS_MAX = 1000;
/** Maximum number of countries of one link: there are 249 codes, besides former and alternative ones such as `UK`. */
export const GEO_COUNTRIES_MAX = 300;
/** A list, separated by commas or as a JSON array. */
const csvOrList = z.union([
  csvText(z.string().max(URL_CHARS_MAX, { abort: true }), LIST_ITEMS_MAX),
  z.array(nameText).max(LIST_ITEMS_MAX),
]);
/** Has the limit of URLs, because answers, which may be sent back, have long values of their URLs: `packages/link-rules` checks a shorter one. */
const utm = z.string().trim().max(URL_CHARS_MAX).nullish();

/** @param meaning what happens at that time, as a sentence */
const date = (meaning: string) =>
  z
    .string()
    .max(DATE_CHARS_MAX)
    .nullish()
    .describe(
      `${meaning} ${DATE_FORMS}, in UTC. A day means its noon, a longer period its first moment, \`in 7 days\` the exact time.`,
    );

/**
 * Body of `POST /links` (docs/reference/links.md). Only types and lengths are checked here; `packages/link-rules` checks the rules that
 * need the workspace, its plan or other fields. Unknown fields are ignored.
 */
export const createLinkBodySchema = z.object({
  url: url.describe('Destination: a URL of any scheme, or a host without a port, which gets `https://` in front.'),
  domain: z
    .string()
    .max(190)
    .nullish()
    .describe('Domain of the workspace, or the default domain. The primary domain of the workspace by default.'),
  key: linkKeySchema
    .nullish()
    .describe(
      'Key of the short link, of at most 190 characters before they are encoded in punycode; random if absent or empty. Letters keep their case and are compared in any case.',
    ),
  keyLength: z.int().min(3).max(190).nullish().describe('Length of the random key; 7 by default.'),
  prefix: z.string().max(190).nullish().describe('Beginning of the random key, which is separated by a slash.'),
  externalId: z
    .string()
    .min(1)
    .max(255)
    .nullish()
    .describe(
      'Your own id of the link, unique in the workspace. To use it in place of the link’s id, put `ext_` in front.',
    ),
  tenantId: z
    .string()
    .max(255)
    .nullish()
    .describe('Your own id of a tenant. If an enrolled partner has it, the link becomes that partner’s.'),
  programId: nameText.nullish().describe('Id of the partner program.'),
  partnerId: nameText.nullish().describe('Id of the partner of the link.'),
  trackConversion: z
    .boolean()
    .optional()
    .describe(
      'Whether the click id is passed to the destination as `dub_id`, so that leads and sales can be attributed.',
    ),
  archived: z.boolean().optional().describe('Whether the link is hidden from lists; it still redirects.'),
  publicStats: z.boolean().optional().describe('Stored and shown; without effect.'),
  tagIds: csvOrList
    .nullish()
    .describe(
      'Ids of the tags of the link, together with `tagNames`. An empty list, without `tagNames`, removes all tags.',
    ),
  tagNames: csvOrList
    .nullish()
    .describe(
      'Names of the tags of the link in any case, together with `tagIds`. An empty list, without `tagIds`, removes all tags.',
    ),
  tagId: nameText
    .nullish()
    .describe('Deprecated: a single id; ignored beside `tagIds`, and beside an empty `tagNames`.'),
  folderId: nameText.nullish().describe('Id of a folder; `null` or an empty text takes the link out of its folder.'),
  comments: text.nullish().describe('Comments on the link; visitors do not see them.'),
  expiresAt: date('Time from which visits are not let through any more:'),
  expiredUrl: url.nullish().describe('Where visits go after `expiresAt`, in place of the `expiredUrl` of the domain.'),
  password: z
    .string()
    .max(1000)
    .nullish()
    .describe('Visitors must enter it. It is stored encrypted; `null` removes it.'),
  proxy: z
    .boolean()
    .optional()
    .describe('Whether robots get a preview page with `title`, `description`, `image` and `video`.'),
  title: text.nullish().describe(`Title of the preview, cut to ${TITLE_CHARS_MAX} characters.`),
  description: text.nullish().describe(`Description of the preview, cut to ${DESCRIPTION_CHARS_MAX} characters.`),
  image: z
    .string()
    .max(IMAGE_FIELD_CHARS_MAX)
    .nullish()
    .describe(
      'Image of the preview: the URL of a public host, or a data URL (PNG, JPEG, GIF or WebP in base64) of at most 100,000 characters.',
    ),
  video: url.nullish().describe('URL of the video of the preview.'),
  rewrite: z.boolean().optional().describe('Whether the destination is shown in a frame under the short link.'),
  doIndex: z.boolean().optional().describe('Whether search engines may index the short link.'),
  ios: url.nullish().describe('Destination for devices with iOS.'),
  android: url.nullish().describe('Destination for devices with Android.'),
  geo: z
    .record(z.string().max(255), url)
    .check(({ value, issues }) => {
      if (Object.keys(value).length <= GEO_COUNTRIES_MAX) return;
      const message = `must have at most ${GEO_COUNTRIES_MAX} countries`;
      issues.push({ code: 'too_big', origin: 'map', maximum: GEO_COUNTRIES_MAX, input: value, message });
    })
    .nullish()
    .describe(
      `Destinations by two-letter country of the visitor, such as \`{ "FR": "https://…" }\`; at most ${GEO_COUNTRIES_MAX}.`,
    ),
  ...utmShape(utm),
  testVariants: z
    .array(
      z.object({
        url: url.describe('Destination of the variant.'),
        percentage: z.number().min(10).max(90).describe('Share of visitors who get the variant.'),
      }),
    )
    .min(2)
    .max(4)
    .nullish()
    .describe('Variants of an A/B test; needs `trackConversion`. The percentages add up to 100.'),
  testStartedAt: date('Time from which leads of the A/B test count; visitors get the variants at once:'),
  testCompletedAt: date('End of the A/B test, after which the variant with the most leads becomes `url`:'),
  webhookIds: z
    .array(nameText)
    .max(LIST_ITEMS_MAX)
    .nullish()
    .describe('Deprecated: ids of webhooks whose `linkScope` is `links`, which get the clicks of this link.'),
});
export type CreateLinkBody = z.infer<typeof createLinkBodySchema>;

/** Body of `PATCH /links/{linkId}`; absent fields stay unchanged. */
export const updateLinkBodySchema = createLinkBodySchema.omit({ keyLength: true, prefix: true }).partial();
export type UpdateLinkBody = z.infer<typeof updateLinkBodySchema>;
