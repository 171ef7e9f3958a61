import { z } from 'zod';
import { tagSchema } from '../links/link.js';
import type { Grouping } from './analytics-query.js';
import { CONTINENTS, triggerSchema } from './event.js';

/** The four numbers of every row; numbers that the requested kind of event does not have are 0. */
const numbers = {
  clicks: z.number().describe('Number of clicks; 0 if only other events are counted.'),
  leads: z.number().describe('Number of leads; 0 if only other events are counted.'),
  sales: z.number().describe('Number of sales; 0 if only other events are counted.'),
  saleAmount: z.number().describe('Total of the sales, in cents of USD; 0 if only other events are counted.'),
};

/** The answer for the grouping `count`. */
const analyticsNumbersSchema = z.strictObject(numbers);
export type AnalyticsNumbers = z.infer<typeof analyticsNumbersSchema>;

const text = z.string();
const optionalText = z.string().nullable().optional();
const all = z.literal('*');

function row<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ ...shape, ...numbers });
}

const topLinkSchema = row({
  link: text.describe('Deprecated: the same as `id`.'),
  id: text.describe('Id of the link.'),
  domain: text.describe('Domain of the link.'),
  key: text.describe('Key of the link.'),
  shortLink: text.describe('Address of the link.'),
  url: text.describe('Destination of the link.'),
  title: optionalText.describe('Title of the link’s preview.'),
  comments: optionalText.describe('Comments on the link.'),
  folderId: optionalText.describe('Id of the folder of the link.'),
  partnerId: optionalText.describe('Id of the partner of the link.'),
  createdAt: z.iso.datetime().describe('When the link was created.'),
});

const folderSchema = z.strictObject({
  id: text.describe('Id of the folder.'),
  name: text.describe('Name of the folder.'),
  accessLevel: optionalText.describe('Access of all members of the workspace to the folder.'),
});
const groupSchema = z.strictObject({
  id: text.describe('Id of the group of partners.'),
  name: text.describe('Name of the group.'),
  slug: text.describe('Name of the group in addresses.'),
  color: optionalText.describe('Colour of the group.'),
});
const partnerTagSchema = z.strictObject({
  id: text.describe('Id of the partner tag.'),
  name: text.describe('Name of the partner tag.'),
});
const partnerSchema = z.strictObject({
  id: text.describe('Id of the partner.'),
  name: text.describe('Name of the partner.'),
  email: optionalText.describe('Email of the partner.'),
  image: optionalText.describe('URL of an image of the partner.'),
  payoutsEnabledAt: optionalText.describe('Always `null`: there are no payouts.'),
  country: optionalText.describe('Country of the partner.'),
});

/**
 * The schema of a row for each grouping (docs/reference/analytics.md). The answer is one object for `count`, and a list of rows otherwise.
 */
export const analyticsRowSchemas = {
  count: analyticsNumbersSchema,
  timeseries: row({
    start: z
      .string()
      .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000[+-]\d{4}$/)
      .describe('Start of the bucket, in the requested time zone, such as `2026-03-04T00:00:00.000+0100`.'),
  }),
  continents: row({ continent: z.enum(CONTINENTS).describe('Code of the continent.') }),
  countries: row({
    country: text.describe('Two-letter code of the country.'),
    region: all.describe('Always `*`.'),
    city: all.describe('Always `*`.'),
  }),
  regions: row({
    country: text.describe('Two-letter code of the country.'),
    region: text.describe('Code of the subdivision, such as `US-CA`.'),
    city: all.describe('Always `*`.'),
  }),
  cities: row({
    country: text.describe('Two-letter code of the country.'),
    region: text.describe('Code of the subdivision, such as `US-CA`.'),
    city: text.describe('Name of the city.'),
  }),
  devices: row({ device: text.describe('Kind of device.') }),
  browsers: row({ browser: text.describe('Name of the browser.') }),
  os: row({ os: text.describe('Name of the operating system.') }),
  triggers: row({ trigger: triggerSchema.describe('What caused the clicks.') }),
  referers: row({ referer: text.describe('Host of the page that the visitors came from, or `(direct)`.') }),
  referer_urls: row({ refererUrl: text.describe('Page that the visitors came from, without its query.') }),
  top_links: topLinkSchema,
  top_urls: row({ url: text.describe('Destination with its query.') }),
  top_base_urls: row({ url: text.describe('Destination without its query.') }),
  utm_sources: row({ utm_source: text.describe('Value of `utm_source`.') }),
  utm_mediums: row({ utm_medium: text.describe('Value of `utm_medium`.') }),
  utm_campaigns: row({ utm_campaign: text.describe('Value of `utm_campaign`.') }),
  utm_terms: row({ utm_term: text.describe('Value of `utm_term`.') }),
  utm_contents: row({ utm_content: text.describe('Value of `utm_content`.') }),
  top_domains: row({ domain: text.describe('Domain of the links.') }),
  top_folders: row({ folderId: text.describe('Id of the folder.'), folder: folderSchema.describe('The folder.') }),
  top_link_tags: row({ tagId: text.describe('Id of the tag.'), tag: tagSchema }),
  top_partners: row({
    partnerId: text.describe('Id of the partner.'),
    partner: partnerSchema.describe('The partner.'),
  }),
  top_groups: row({
    groupId: text.describe('Id of the group of partners.'),
    group: groupSchema.describe('The group of partners.'),
  }),
  top_partner_tags: row({
    partnerTagId: text.describe('Id of the partner tag.'),
    partnerTag: partnerTagSchema.describe('The partner tag.'),
  }),
} as const satisfies Record<Grouping, z.ZodType>;

const { count, ...listed } = analyticsRowSchemas;

/** Response of `GET /analytics`: one object for `count`, otherwise a list of rows of one schema. */
export const analyticsAnswerSchema = z.union([count, ...Object.values(listed).map((schema) => z.array(schema))]);
