import { z } from 'zod';
import { formatCheck } from '../values/format-check.js';
import { jsonValueSchema } from '../values/json-value.js';
import { parseUrl, URL_CHARS_MAX } from '../values/parse-url.js';
import { customerExternalIdSchema } from './customer.js';
import { paymentProcessorSchema } from './event.js';

/** Most characters of the metadata of an event as JSON. */
export const METADATA_CHARS_MAX = 10_000;

const metadata = z
  .record(z.string(), jsonValueSchema)
  .nullish()
  .check(({ value, issues }) => {
    if (value == null || JSON.stringify(value).length <= METADATA_CHARS_MAX) return;
    const message = `must have at most ${METADATA_CHARS_MAX} characters as JSON`;
    issues.push({ code: 'too_big', origin: 'string', maximum: METADATA_CHARS_MAX, input: value, message });
  });

const customerFields = {
  customerName: z.string().max(100).nullish(),
  customerEmail: z.email().max(100).nullish(),
  customerAvatar: z.string().max(URL_CHARS_MAX).nullish(),
};

/** Sets `customerExternalId`, if it is absent, from the deprecated aliases `externalId` or else `customerId`. */
function withAliases(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const fields = body as Record<string, unknown>;
  const customerExternalId = fields.customerExternalId ?? fields.externalId ?? fields.customerId;
  return { ...fields, customerExternalId };
}

const host = z.string().min(1).max(2048);
const referrer = z.string().max(URL_CHARS_MAX).nullish();
const pageUrl = z.string().max(URL_CHARS_MAX, { abort: true });
const isUrl = formatCheck((text) => parseUrl(text) !== undefined, 'must be a URL');
const clickId = z.string().trim().max(255);

/** Body of `POST /track/click`. */
export const trackClickBodySchema = z.object({
  domain: host,
  key: z.string().min(1).max(2048),
  url: pageUrl.nullish(),
  referrer,
});
export type TrackClickBody = z.infer<typeof trackClickBodySchema>;

/** Body of `POST /track/open`. */
export const trackOpenBodySchema = z
  .object({
    deepLink: pageUrl.check(isUrl).nullish(),
    dubDomain: host.nullish(),
  })
  .refine(({ deepLink, dubDomain }) => Boolean(deepLink) || Boolean(dubDomain), {
    message: 'deepLink or dubDomain must be given',
    path: ['deepLink'],
  });
export type TrackOpenBody = z.infer<typeof trackOpenBodySchema>;

/** Body of `POST /track/visit`. */
export const trackVisitBodySchema = z.object({
  domain: host,
  url: pageUrl.check(isUrl),
  referrer,
});
export type TrackVisitBody = z.infer<typeof trackVisitBodySchema>;

const leadFields = {
  eventName: z.string().trim().min(1).max(255),
  customerExternalId: customerExternalIdSchema,
  ...customerFields,
  mode: z.enum(['async', 'wait', 'deferred']).default('async'),
  eventQuantity: z.int().min(1).max(100).nullish(),
  metadata,
};

/** Body of `POST /track/lead`. */
export const trackLeadBodySchema = z.preprocess(withAliases, z.object({ clickId: clickId.nullish(), ...leadFields }));
export type TrackLeadBody = z.infer<typeof trackLeadBodySchema>;

/** Body of `POST /track/lead/client`: no aliases, and `clickId` is required. */
export const trackLeadClientBodySchema = z.object({ clickId: clickId.min(1), ...leadFields });

/** An amount in minor units of the currency. A fraction is reported as a wrong type (400), because minor units are whole numbers. */
const amount = z
  .number()
  .superRefine((value, { addIssue }) => {
    if (Number.isInteger(value)) return;
    const message = 'must be a whole number';
    addIssue({ code: 'invalid_type', expected: 'number', input: value, message });
  })
  .int()
  .min(0);

const DEFAULT_SALE_NAME = 'Purchase';

const saleSchema = z.object({
  customerExternalId: customerExternalIdSchema,
  amount,
  currency: z
    .string()
    .trim()
    .toLowerCase()
    .max(100)
    .regex(/^[a-z]{3}$/, 'must be three letters')
    .default('usd'),
  eventName: z
    .string()
    .trim()
    .max(255)
    .overwrite((name) => name || DEFAULT_SALE_NAME)
    .default(DEFAULT_SALE_NAME),
  paymentProcessor: paymentProcessorSchema.default('custom'),
  invoiceId: z.string().trim().max(255).nullish(),
  metadata,
  leadEventName: z.string().trim().max(255).nullish(),
  clickId: clickId.nullish(),
  ...customerFields,
});

/** Body of `POST /track/sale`. `amount` is in minor units of `currency`. */
export const trackSaleBodySchema = z.preprocess(withAliases, saleSchema);
export type TrackSaleBody = z.infer<typeof trackSaleBodySchema>;

/** Body of `POST /track/sale/client`: no aliases. */
export const trackSaleClientBodySchema = saleSchema;

/** Response of `POST /track/click`. `partner` and `discount` are present for partner links only. */
export const trackClickResponseSchema = z.strictObject({
  clickId: z.string(),
  partner: z
    .strictObject({
      id: z.string(),
      name: z.string(),
      image: z.string().nullable(),
      groupId: z.string().optional(),
      tenantId: z.string().optional(),
    })
    .optional(),
  discount: z.null().optional(),
});
export type TrackClickResponse = z.infer<typeof trackClickResponseSchema>;

/** Response of `POST /track/visit`. */
export const trackVisitResponseSchema = z.strictObject({ clickId: z.string() });
export type TrackVisitResponse = z.infer<typeof trackVisitResponseSchema>;

/** Response of `POST /track/open`; both fields are null when no click was found for the app. */
export const trackOpenResponseSchema = z.strictObject({
  clickId: z.string().nullable(),
  link: z.strictObject({ id: z.string(), domain: z.string(), key: z.string(), url: z.string() }).nullable(),
});
export type TrackOpenResponse = z.infer<typeof trackOpenResponseSchema>;

/** The link in the response of `POST /track/lead`. */
export const trackedLinkSchema = z.strictObject({
  id: z.string(),
  domain: z.string(),
  key: z.string(),
  shortLink: z.string(),
  url: z.string(),
  partnerId: z.string().nullable(),
  programId: z.string().nullable(),
  tenantId: z.string().nullable(),
  externalId: z.string().nullable(),
});

/** Response of `POST /track/lead`; `link` is null for a duplicate, which is not recorded. */
export const trackLeadResponseSchema = z.strictObject({
  click: z.strictObject({ id: z.string() }),
  link: trackedLinkSchema.nullable(),
  customer: z.strictObject({
    name: z.string().nullable(),
    email: z.string().nullable(),
    avatar: z.string().nullable(),
    externalId: z.string().nullable(),
  }),
});
export type TrackLeadResponse = z.infer<typeof trackLeadResponseSchema>;

/** Response of `POST /track/sale`; `customer` and `sale` are null when nothing was recorded. */
export const trackSaleResponseSchema = z.strictObject({
  eventName: z.string(),
  customer: z
    .strictObject({
      id: z.string(),
      name: z.string().nullable(),
      email: z.string().nullable(),
      avatar: z.string().nullable(),
      externalId: z.string().nullable(),
    })
    .nullable(),
  sale: z
    .strictObject({
      amount: z.number(),
      currency: z.string(),
      paymentProcessor: paymentProcessorSchema,
      invoiceId: z.string().nullable(),
      metadata: z.record(z.string(), jsonValueSchema).nullable(),
    })
    .nullable(),
});
export type TrackSaleResponse = z.infer<typeof trackSaleResponseSchema>;
