import { z } from 'zod';

/** Key of the root link, that is the link of a domain itself (`https://go.acme.com/`). */
export const ROOT_KEY = '_root';

export const TAG_COLORS = ['red', 'yellow', 'green', 'blue', 'purple', 'brown', 'gray', 'pink'] as const;

/** The tag object of every response. */
export const tagSchema = z.strictObject({
  id: z.string().describe('Id of the tag, `tag_…`.'),
  name: z.string().describe('Name of the tag.'),
  color: z.enum(TAG_COLORS).describe('Colour of the tag.'),
});
export type Tag = z.infer<typeof tagSchema>;

/** The variants of an A/B test: their destinations, and the share of visits of each in percent. */
export const testVariantsSchema = z
  .array(
    z.strictObject({
      url: z.string().describe('Destination of the variant.'),
      percentage: z
        .number()
        .min(10)
        .max(90)
        .describe('Share of visitors who get the variant; the shares add up to 100.'),
    }),
  )
  .min(2)
  .max(4);

/**
 * Responses show this mask in place of a password that the caller must not see. A change that sends the mask for a link with a password
 * leaves the password unchanged; otherwise the mask is refused.
 */
export const HIDDEN_PASSWORD = '********';

const text = z.string().nullable();

/** The link object of every response: exactly 51 fields. `saleAmount` is in cents of USD. */
export const linkSchema = z.strictObject({
  id: z.string().describe('Id of the link, `link_…`.'),
  domain: z.string().describe('Domain of the short link.'),
  key: z
    .string()
    .describe('Key of the short link: its path, without the first slash. `_root` for a domain’s own link.'),
  url: z.string().describe('Destination. Empty for a domain’s own link without one.'),
  trackConversion: z
    .boolean()
    .describe(
      'Whether the click id is passed to the destination as `dub_id`, so that leads and sales can be attributed.',
    ),
  externalId: text.describe('Your own id of the link, unique in the workspace.'),
  tenantId: text.describe('Your own id of the tenant that the link belongs to.'),
  programId: text.describe('Id of the partner program of the link.'),
  partnerId: text.describe('Id of the partner of the link.'),
  archived: z.boolean().describe('Whether the link is hidden from lists; it still redirects.'),
  expiresAt: text.describe(
    'Time from which visits are not let through any more; earlier while the partner of the link is deactivated.',
  ),
  expiredUrl: text.describe('Where visits go after `expiresAt`, in place of the `expiredUrl` of the domain.'),
  disabledAt: text.describe('Since when the link is out of service because its partner is banned.'),
  password: text.describe(`\`${HIDDEN_PASSWORD}\` for callers without links.write`),
  proxy: z.boolean().describe('Whether robots get a preview page with `title`, `description`, `image` and `video`.'),
  title: text.describe('Title of the preview.'),
  description: text.describe('Description of the preview.'),
  image: text.describe('Image of the preview: a URL or a data URL.'),
  video: text.describe('URL of the video of the preview.'),
  rewrite: z.boolean().describe('Whether the destination is shown in a frame under the short link.'),
  doIndex: z.boolean().describe('Whether search engines may index the short link.'),
  ios: text.describe('Destination for devices with iOS.'),
  android: text.describe('Destination for devices with Android.'),
  geo: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Destinations by country of the visitor, such as `{ "FR": "https://…" }`.'),
  publicStats: z.boolean().describe('Stored and shown; without effect.'),
  tags: z.array(tagSchema).describe('Tags of the link.'),
  folderId: text.describe('Id of the folder of the link.'),
  comments: text.describe('Comments on the link; visitors do not see them.'),
  shortLink: z.string().describe('Address of the link, such as `https://go.acme.com/try`.'),
  qrCode: z.string().describe('Address of a QR code of the link. Its scans count with the trigger `qr`.'),
  utm_source: text.describe('Value of `utm_source` in the query of the destination.'),
  utm_medium: text.describe('Value of `utm_medium` in the query of the destination.'),
  utm_campaign: text.describe('Value of `utm_campaign` in the query of the destination.'),
  utm_term: text.describe('Value of `utm_term` in the query of the destination.'),
  utm_content: text.describe('Value of `utm_content` in the query of the destination.'),
  testVariants: testVariantsSchema
    .nullable()
    .describe('Variants of an A/B test; they take the place of `url` while the test runs.'),
  testStartedAt: text.describe('Time from which leads of the A/B test count.'),
  testCompletedAt: text.describe('End of the A/B test, after which the variant with the most leads becomes `url`.'),
  userId: text.describe('Id of the user whose key created the link.'),
  workspaceId: z.string().describe('Id of the workspace, `ws_…`.'),
  clicks: z.number().describe('Number of recorded clicks.'),
  leads: z.number().describe('Number of leads.'),
  conversions: z.number().describe('Number of first sales of customers on this link.'),
  sales: z.number().describe('Number of sales.'),
  saleAmount: z.number().describe('Total of the sales, in cents of USD.'),
  lastClicked: text.describe('Time of the last click.'),
  createdAt: z.string().describe('When the link was created.'),
  updatedAt: z.string().describe('When the link was last changed.'),
  tagId: text.describe('Deprecated: the id of the first of `tags`.'),
  projectId: z.string().describe('Deprecated: the same as `workspaceId`.'),
  webhookIds: z
    .array(z.string())
    .describe('Deprecated: ids of the webhooks whose `linkScope` is `links` and that list this link.'),
});
export type Link = z.infer<typeof linkSchema>;
