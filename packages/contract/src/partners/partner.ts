import { z } from 'zod';
import { createLinkBodySchema } from '../links/link-body.js';
import { eachUtmField } from '../links/utm.js';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { queryEnum, queryList, queryText } from '../values/query-values.js';

const text = z.string().nullable();
const idText = z.string().max(255);

/** Statuses of a partner (docs/reference/partners.md). */
export const PARTNER_STATUSES = [
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
  id: z.string(),
  domain: z.string(),
  key: z.string(),
  shortLink: z.string(),
  url: z.string(),
  clicks: z.number(),
  leads: z.number(),
  conversions: z.number(),
  sales: z.number(),
  saleAmount: z.number(),
});
export type PartnerLink = z.infer<typeof partnerLinkSchema>;

/** The partner object of every response. Payouts do not exist, so their fields are null. Amounts are in cents of USD. */
export const partnerSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  username: text,
  email: text,
  image: text,
  description: text,
  country: text,
  companyName: text,
  networkStatus: z.enum(['draft', 'submitted', 'approved', 'rejected', 'trusted']),
  defaultPayoutMethod: z.enum(['connect', 'stablecoin', 'paypal', 'tremendous']).nullable(),
  paypalEmail: text,
  stripeConnectId: text,
  payoutsEnabledAt: text,
  identityVerifiedAt: text,
  programId: z.string(),
  groupId: text,
  partnerId: z.string(),
  tenantId: text,
  createdAt: z.string(),
  status: z.enum(PARTNER_STATUSES),
  links: z.array(partnerLinkSchema).nullable(),
  bannedAt: text,
  bannedReason: z.enum(BAN_REASONS).nullable(),
  tags: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  totalClicks: z.number(),
  totalLeads: z.number(),
  totalConversions: z.number(),
  totalSales: z.number(),
  totalSaleAmount: z.number(),
  totalCommissions: z.number(),
  netRevenue: z.number(),
  earningsPerClick: z.number().nullable(),
  averageLifetimeValue: z.number().nullable(),
  clickToLeadRate: z.number().nullable(),
  clickToConversionRate: z.number().nullable(),
  leadToConversionRate: z.number().nullable(),
  returnOnAdSpend: z.number().nullable(),
});
export type Partner = z.infer<typeof partnerSchema>;

/** Fields of `linkProps`, which a caller may set on the links that are created for a partner. */
export const partnerLinkPropsSchema = createLinkBodySchema.omit({
  url: true,
  domain: true,
  key: true,
  programId: true,
  partnerId: true,
  trackConversion: true,
  folderId: true,
  ...eachUtmField(true as const),
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
  email: z.email().max(190),
  name: z.string().trim().max(100).nullish(),
  username: z.string().trim().max(100).nullish(),
  image: z.string().max(URL_CHARS_MAX).nullish(),
  tenantId: z.string().max(255).nullish(),
  groupId: idText.nullish(),
  country: z
    .string()
    .max(100)
    .regex(/^[A-Za-z]{2}$/, 'must be two letters')
    .toUpperCase()
    .nullish(),
  description: z.string().max(5000).nullish(),
  linkProps,
});
export type CreatePartnerBody = z.infer<typeof createPartnerBodySchema>;

const partnerSelector = { partnerId: idText.nullish(), tenantId: idText.nullish() };
const partnerLink = {
  ...partnerSelector,
  key: z.string().max(190).nullish(),
  comments: z.string().max(URL_CHARS_MAX).nullish(),
  linkProps,
};

/** Body of `POST /partners/links`. */
export const createPartnerLinkBodySchema = z.object({ ...partnerLink, url: z.string().max(URL_CHARS_MAX).nullish() });
export type CreatePartnerLinkBody = z.infer<typeof createPartnerLinkBodySchema>;

/** Body of `PUT /partners/links/upsert`. */
export const upsertPartnerLinkBodySchema = z.object({ ...partnerLink, url: z.string().min(1).max(URL_CHARS_MAX) });

/** Query of `GET /partners/links`; `partnerId` takes precedence over `tenantId`. */
export const partnerSelectorQuerySchema = closedQuery({ partnerId: queryText, tenantId: queryText });

/** Body of `POST /partners/ban`; `partnerId` takes precedence over `tenantId`. */
export const banPartnerBodySchema = z.object({ ...partnerSelector, reason: z.enum(BAN_REASONS) });
/** Body of `POST /partners/deactivate`, `reactivate` and `unban`; `partnerId` takes precedence over `tenantId`. */
export const partnerSelectorBodySchema = z.object(partnerSelector);
/** Response of the routes that change the status of a partner. */
export const partnerIdAnswerSchema = z.strictObject({ partnerId: z.string() });

/** Values of `sortBy` of `GET /partners`. */
export const PARTNER_SORT_FIELDS = [
  'totalSaleAmount',
  'createdAt',
  'totalClicks',
  'totalLeads',
  'totalConversions',
  'totalCommissions',
  'netRevenue',
  'earningsPerClick',
  'averageLifetimeValue',
  'clickToLeadRate',
  'clickToConversionRate',
  'leadToConversionRate',
  'returnOnAdSpend',
] as const;

/** Query of `GET /partners`; sorted by `totalSaleAmount`, descending, by default. */
export const listPartnersQuerySchema = closedQuery({
  ...sortShape(PARTNER_SORT_FIELDS),
  ...pageShape(),
  groupId: queryText,
  /** Countries as CSV; a leading `-` excludes them. */
  country: queryList,
  status: queryEnum(PARTNER_STATUSES),
  email: queryText,
  tenantId: queryText,
  search: queryText,
});
export type ListPartnersQuery = z.infer<typeof listPartnersQuerySchema>;

/** An application to become a partner. */
export const partnerApplicationSchema = z.strictObject({
  id: z.string(),
  createdAt: z.string(),
  partner: z.strictObject({
    id: z.string(),
    name: z.string(),
    companyName: text,
    email: text,
    image: text,
    description: text,
    country: text,
    groupId: text,
    status: z.enum(PARTNER_STATUSES),
  }),
  applicationFormData: z.array(z.strictObject({ label: z.string(), value: text })).nullable(),
});
export type PartnerApplication = z.infer<typeof partnerApplicationSchema>;

/** Query of `GET /partners/applications`; newest first by default. */
export const listApplicationsQuerySchema = closedQuery({
  ...sortShape(['createdAt']),
  ...pageShape(),
  country: queryList,
  groupId: queryText,
});

/** Body of `POST /partners/applications/approve`. */
export const approveApplicationBodySchema = z.object({ partnerId: idText, groupId: idText.nullish() });

/** Body of `POST /partners/applications/reject`. */
export const rejectApplicationBodySchema = z.object({
  partnerId: idText,
  rejectionReason: z.enum(['needsMoreDetail', 'doesNotMeetRequirements', 'notTheRightFit', 'other']).nullish(),
  rejectionNote: z.string().max(5000).nullish(),
  reapplicationTimeframe: z.enum(['instant', 'standard', 'never']).default('standard'),
  flagForFraud: z.boolean().nullish(),
  flagForFraudReason: z.string().max(5000).nullish(),
});
export type RejectApplicationBody = z.infer<typeof rejectApplicationBodySchema>;
