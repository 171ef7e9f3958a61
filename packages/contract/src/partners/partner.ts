import { z } from 'zod';
import { createLinkBodySchema } from '../links/link-body.js';
import { linkKeySchema } from '../links/link-key.js';
import { eachUtmField } from '../links/utm.js';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { queryBoolean, queryEnum, queryJoinedValues, queryText } from '../values/query-values.js';

const text = z.string().nullable();
const idText = z.string().max(255);

/** Statuses of a partner (docs/reference/partners.md). */
const PARTNER_STATUSES = [
  'pending',
  'approved',
  'rejected',
  'invited',
  'declined',
  'deactivated',
  'banned',
  'archived',
] as const;

/** Reasons that a ban can have. */
export const BAN_REASONS = [
  'tos_violation',
  'inappropriate_content',
  'fake_traffic',
  'fraud',
  'spam',
  'brand_abuse',
] as const;

/** A link in responses of `/partners`. `saleAmount` is in cents of USD. */
export const partnerLinkSchema = z.strictObject({
  id: z.string().describe('Id of the link.'),
  domain: z.string().describe('Domain of the link.'),
  key: z.string().describe('Key of the link.'),
  shortLink: z.string().describe('Address of the link.'),
  url: z.string().describe('Destination of the link.'),
  clicks: z.number().describe('Number of recorded clicks.'),
  leads: z.number().describe('Number of leads.'),
  conversions: z.number().describe('Number of first sales of customers on this link.'),
  sales: z.number().describe('Number of sales.'),
  saleAmount: z.number().describe('Total of the sales, in cents of USD.'),
});
export type PartnerLink = z.infer<typeof partnerLinkSchema>;

/** The partner object of every response. Payouts do not exist, so their fields are null. Amounts are in cents of USD. */
export const partnerSchema = z.strictObject({
  id: z.string().describe('Id of the partner, `pn_…`.'),
  name: z.string().describe('Name of the partner.'),
  username: text.describe('Name of the partner in addresses.'),
  email: text.describe('Email of the partner.'),
  image: text.describe('URL of an image of the partner, stored as it is sent.'),
  description: text.describe('Description of the partner.'),
  country: text.describe('Two-letter code of the partner’s country.'),
  companyName: text.describe('Company of the partner.'),
  networkStatus: z
    .enum(['draft', 'submitted', 'approved', 'rejected', 'trusted'])
    .describe('Always `draft`: there is no network of partners.'),
  defaultPayoutMethod: z
    .enum(['connect', 'stablecoin', 'paypal', 'tremendous'])
    .nullable()
    .describe('Always `null`: there are no payouts.'),
  paypalEmail: text.describe('Always `null`: there are no payouts.'),
  stripeConnectId: text.describe('Always `null`: there are no payouts.'),
  payoutsEnabledAt: text.describe('Always `null`: there are no payouts.'),
  identityVerifiedAt: text.describe('Always `null`.'),
  trustedAt: text.describe('Always `null`: there is no network of partners.'),
  website: text.describe('Always `null`.'),
  youtube: text.describe('Always `null`.'),
  twitter: text.describe('Always `null`.'),
  linkedin: text.describe('Always `null`.'),
  instagram: text.describe('Always `null`.'),
  tiktok: text.describe('Always `null`.'),
  programId: z.string().describe('Id of the partner program.'),
  groupId: text.describe('Id of the group of the partner.'),
  partnerId: z.string().describe('The same as `id`.'),
  tenantId: text.describe('Your own id of the tenant that the partner stands for.'),
  createdAt: z.string().describe('When the partner enrolled.'),
  status: z
    .enum(PARTNER_STATUSES)
    .describe(
      'Whether the partner’s links work: those of `deactivated` partners have expired, those of `banned` ones are disabled.',
    ),
  links: z.array(partnerLinkSchema).nullable().describe('Links of the partner.'),
  bannedAt: text.describe('Since when the partner is banned.'),
  bannedReason: z.enum(BAN_REASONS).nullable().describe('Why the partner is banned.'),
  tags: z
    .array(
      z.strictObject({
        id: z.string().describe('Id of the partner tag.'),
        name: z.string().describe('Name of the partner tag.'),
      }),
    )
    .describe('Tags of the partner.'),
  totalClicks: z.number().describe('Number of clicks on the partner’s links.'),
  totalLeads: z.number().describe('Number of leads of the partner’s links.'),
  totalConversions: z.number().describe('Number of first sales of customers on the partner’s links.'),
  totalSales: z.number().describe('Number of sales of the partner’s links.'),
  totalSaleAmount: z.number().describe('Total of these sales, in cents of USD.'),
  totalCommissions: z.number().describe('Always 0: there are no commissions.'),
  netRevenue: z.number().describe('The same as `totalSaleAmount`: there are no commissions.'),
  earningsPerClick: z.number().nullable().describe('Always 0: there are no commissions.'),
  averageLifetimeValue: z.number().nullable().describe('Total of the sales divided by the conversions; 0 without any.'),
  clickToLeadRate: z.number().nullable().describe('Leads divided by clicks.'),
  clickToConversionRate: z.number().nullable().describe('Conversions divided by clicks.'),
  leadToConversionRate: z.number().nullable().describe('Conversions divided by leads.'),
  returnOnAdSpend: z.number().nullable().describe('Always 0: there are no commissions.'),
});
export type Partner = z.infer<typeof partnerSchema>;

/** Fields of `linkProps`, which a caller may set on the links that are created for a partner. */
const partnerLinkPropsSchema = createLinkBodySchema.omit({
  url: true,
  domain: true,
  key: true,
  programId: true,
  partnerId: true,
  trackConversion: true,
  folderId: true,
  ...eachUtmField(() => true as const),
  publicStats: true,
  tagId: true,
  geo: true,
  webhookIds: true,
  keyLength: true,
});
export type PartnerLinkProps = z.infer<typeof partnerLinkPropsSchema>;

const linkProps = partnerLinkPropsSchema.nullish();

/** Body of `POST /partners`. */
export const createPartnerBodySchema = z.object({
  email: z.email().max(190).describe('Email of the partner, which identifies them in any case.'),
  name: z.string().trim().max(100).nullish().describe('Name of the partner.'),
  username: z.string().trim().max(100).nullish().describe('Key of the partner’s first link.'),
  image: z.string().max(URL_CHARS_MAX).nullish().describe('URL of an image of the partner, stored as it is sent.'),
  tenantId: z
    .string()
    .max(255)
    .nullish()
    .describe('Your own id of the tenant that the partner stands for; unique in the workspace.'),
  groupId: idText.nullish().describe('Id of the group of the partner.'),
  country: z
    .string()
    .max(100)
    .regex(/^[A-Za-z]{2}$/, 'must be two letters')
    .toUpperCase()
    .nullish()
    .describe('Two-letter code of the partner’s country.'),
  description: z.string().max(5000).nullish().describe('Description of the partner.'),
  linkProps: linkProps.describe(
    'Fields of the partner’s first link; those that partner links have none of are ignored.',
  ),
});
export type CreatePartnerBody = z.infer<typeof createPartnerBodySchema>;

const partnerSelector = {
  partnerId: idText.nullish().describe('Id of the partner, `pn_…`; takes precedence over `tenantId`.'),
  tenantId: idText.nullish().describe('Your own id of the tenant that the partner stands for.'),
};
const partnerLink = {
  ...partnerSelector,
  key: linkKeySchema.nullish().describe('Key of the link; random by default.'),
  comments: z.string().max(URL_CHARS_MAX).nullish().describe('Comments on the link; visitors do not see them.'),
  linkProps: linkProps.describe('Other fields of the link; those that partner links have none of are ignored.'),
};

/** Body of `POST /partners/links`. */
export const createPartnerLinkBodySchema = z.object({
  ...partnerLink,
  url: z
    .string()
    .max(URL_CHARS_MAX)
    .nullish()
    .describe('Destination, on the site of the program; that site by default.'),
});
export type CreatePartnerLinkBody = z.infer<typeof createPartnerLinkBodySchema>;

/** Body of `PUT /partners/links/upsert`. */
export const upsertPartnerLinkBodySchema = z.object({
  ...partnerLink,
  url: z
    .string()
    .min(1)
    .max(URL_CHARS_MAX)
    .describe(
      'Destination, on the site of the program. A link of the partner with this very destination is changed, otherwise one is created.',
    ),
});

/** Parameters that select a partner. */
export const partnerSelectorShape = {
  partnerId: queryText.describe('Id of the partner, `pn_…`; takes precedence over `tenantId`.'),
  tenantId: queryText.describe('Your own id of the tenant that the partner stands for.'),
  programId: queryText.describe('Deprecated: the partner program, which is that of the workspace.'),
};

/** Query of `GET /partners/links`; `partnerId` takes precedence over `tenantId`. */
export const partnerSelectorQuerySchema = closedQuery(partnerSelectorShape);

/** Body of `POST /partners/ban`; `partnerId` takes precedence over `tenantId`. */
export const banPartnerBodySchema = z.object({
  ...partnerSelector,
  reason: z.enum(BAN_REASONS).describe('Why the partner is banned.'),
});
/** Body of `POST /partners/deactivate`, `reactivate` and `unban`; `partnerId` takes precedence over `tenantId`. */
export const partnerSelectorBodySchema = z.object(partnerSelector);
/** Response of the routes that change the status of a partner. */
export const partnerIdAnswerSchema = z.strictObject({ partnerId: z.string().describe('Id of the partner.') });

/** Values of `sortBy` of `GET /partners`. */
const PARTNER_SORT_FIELDS = [
  'totalSaleAmount',
  'createdAt',
  'totalClicks',
  'totalLeads',
  'totalConversions',
  'totalSales',
  'totalCommissions',
  'netRevenue',
  'earningsPerClick',
  'averageLifetimeValue',
  'clickToLeadRate',
  'clickToConversionRate',
  'leadToConversionRate',
  'returnOnAdSpend',
] as const;

/** Names of these values in older SDKs of dub. Some send `saleAmount` with every list that has a parameter. */
const OLDER_SORT_FIELDS = new Map<unknown, (typeof PARTNER_SORT_FIELDS)[number]>([
  ['clicks', 'totalClicks'],
  ['leads', 'totalLeads'],
  ['conversions', 'totalConversions'],
  ['sales', 'totalSales'],
  ['saleAmount', 'totalSaleAmount'],
  ['commissions', 'totalCommissions'],
]);

/** Query of `GET /partners`; sorted by `totalSaleAmount`, descending, by default. */
export const listPartnersQuerySchema = closedQuery({
  ...sortShape(PARTNER_SORT_FIELDS, 'desc', OLDER_SORT_FIELDS),
  ...pageShape(),
  groupId: queryText.describe('Only partners of this group.'),
  country: queryJoinedValues.describe(
    'Only partners from these countries, as two-letter codes; a leading `-` excludes them.',
  ),
  status: queryEnum(PARTNER_STATUSES).describe('Only partners with this status.'),
  email: queryText.describe('Only the partner with this email, in any case.'),
  tenantId: queryText.describe('Only the partner with this `tenantId`.'),
  search: queryText.describe(
    'A whole id, or part of the name, the email, the `tenantId` or the username, in any case.',
  ),
  includeExpandedFields: queryBoolean.describe('Deprecated, without effect: the totals are always in the answer.'),
});
export type ListPartnersQuery = z.infer<typeof listPartnersQuerySchema>;

/** An application to become a partner. */
export const partnerApplicationSchema = z.strictObject({
  id: z.string().describe('Id of the application.'),
  createdAt: z.string().describe('When the partner applied.'),
  partner: z
    .strictObject({
      id: z.string().describe('Id of the partner.'),
      name: z.string().describe('Name of the partner.'),
      companyName: text.describe('Company of the partner.'),
      email: text.describe('Email of the partner.'),
      image: text.describe('URL of an image of the partner, stored as it is sent.'),
      description: text.describe('Description of the partner.'),
      country: text.describe('Two-letter code of the partner’s country.'),
      groupId: text.describe('Id of the group of the partner.'),
      status: z.enum(PARTNER_STATUSES).describe('Status of the partner.'),
    })
    .describe('The partner who applied.'),
  applicationFormData: z
    .array(z.strictObject({ label: z.string().describe('Question of the form.'), value: text.describe('Answer.') }))
    .nullable()
    .describe('Answers of the form of the application.'),
});
export type PartnerApplication = z.infer<typeof partnerApplicationSchema>;

/** Query of `GET /partners/applications`; newest first by default. */
export const listApplicationsQuerySchema = closedQuery({
  ...sortShape(['createdAt'], 'desc'),
  ...pageShape(),
  country: queryJoinedValues.describe(
    'Only partners from these countries, as two-letter codes; a leading `-` excludes them.',
  ),
  groupId: queryText.describe('Only partners of this group.'),
});

/** Body of `POST /partners/applications/approve`. */
export const approveApplicationBodySchema = z.object({
  partnerId: idText.describe('Id of the partner who applied.'),
  groupId: idText.nullish().describe('Id of the group that the partner gets.'),
});

/** Body of `POST /partners/applications/reject`. */
export const rejectApplicationBodySchema = z.object({
  partnerId: idText.describe('Id of the partner who applied.'),
  rejectionReason: z
    .enum(['needsMoreDetail', 'doesNotMeetRequirements', 'notTheRightFit', 'other'])
    .nullish()
    .describe('Why the application is rejected.'),
  rejectionNote: z.string().max(5000).nullish().describe('A note for the partner.'),
  reapplicationTimeframe: z
    .enum(['instant', 'standard', 'never'])
    .default('standard')
    .describe('When the partner may apply again.'),
  flagForFraud: z.boolean().nullish().describe('Whether the application looks like fraud.'),
  flagForFraudReason: z.string().max(5000).nullish().describe('Why it looks like fraud.'),
});
export type RejectApplicationBody = z.infer<typeof rejectApplicationBodySchema>;
