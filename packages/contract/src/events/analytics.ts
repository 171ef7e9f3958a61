import { z } from 'zod';
import { tagSchema } from '../links/link.js';
import type { Grouping } from './analytics-query.js';
import { CONTINENTS, triggerSchema } from './event.js';

/** The four numbers of every row; numbers that the requested kind of event does not have are 0. */
const numbers = {
  clicks: z.number(),
  leads: z.number(),
  sales: z.number(),
  /** Cents of USD. */
  saleAmount: z.number(),
};

/** The answer for the grouping `count`. */
export const analyticsNumbersSchema = z.strictObject(numbers);
export type AnalyticsNumbers = z.infer<typeof analyticsNumbersSchema>;

const text = z.string();
const optionalText = z.string().nullable().optional();
const all = z.literal('*');

function row<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ ...shape, ...numbers });
}

const topLinkSchema = row({
  /** Deprecated: the same as `id`. */
  link: text,
  id: text,
  domain: text,
  key: text,
  shortLink: text,
  url: text,
  title: optionalText,
  comments: optionalText,
  folderId: optionalText,
  partnerId: optionalText,
  createdAt: z.iso.datetime(),
});

const folderSchema = z.strictObject({ id: text, name: text, accessLevel: optionalText });
const groupSchema = z.strictObject({ id: text, name: text, slug: text, color: optionalText });
const partnerTagSchema = z.strictObject({ id: text, name: text });
const partnerSchema = z.strictObject({
  id: text,
  name: text,
  email: optionalText,
  image: optionalText,
  payoutsEnabledAt: optionalText,
  country: optionalText,
});

/**
 * The schema of a row for each grouping (docs/reference/analytics.md). The answer is one object for `count`, and a list of rows otherwise.
 */
export const analyticsRowSchemas = {
  count: analyticsNumbersSchema,
  /** Start of the bucket, in the requested time zone: `2026-03-04T00:00:00.000+0100`. */
  timeseries: row({ start: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000[+-]\d{4}$/) }),
  continents: row({ continent: z.enum(CONTINENTS) }),
  countries: row({ country: text, region: all, city: all }),
  regions: row({ country: text, region: text, city: all }),
  cities: row({ country: text, region: text, city: text }),
  devices: row({ device: text }),
  browsers: row({ browser: text }),
  os: row({ os: text }),
  triggers: row({ trigger: triggerSchema }),
  referers: row({ referer: text }),
  referer_urls: row({ refererUrl: text }),
  top_links: topLinkSchema,
  top_urls: row({ url: text }),
  top_base_urls: row({ url: text }),
  utm_sources: row({ utm_source: text }),
  utm_mediums: row({ utm_medium: text }),
  utm_campaigns: row({ utm_campaign: text }),
  utm_terms: row({ utm_term: text }),
  utm_contents: row({ utm_content: text }),
  top_domains: row({ domain: text }),
  top_folders: row({ folderId: text, folder: folderSchema }),
  top_link_tags: row({ tagId: text, tag: tagSchema }),
  top_partners: row({ partnerId: text, partner: partnerSchema }),
  top_groups: row({ groupId: text, group: groupSchema }),
  top_partner_tags: row({ partnerTagId: text, partnerTag: partnerTagSchema }),
} as const satisfies Record<Grouping, z.ZodType>;

const { count, ...listed } = analyticsRowSchemas;

/** Response of `GET /analytics`: one object for `count`, otherwise a list of rows of one schema. */
export const analyticsAnswerSchema = z.union([count, ...Object.values(listed).map((schema) => z.array(schema))]);
