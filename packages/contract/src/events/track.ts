import { z } from 'zod';
import { formatCheck } from '../values/format-check.js';
import { jsonValueSchema } from '../values/json-value.js';
import { parseUrl, URL_CHARS_MAX } from '../values/parse-url.js';
import { customerExternalIdSchema } from './customer.js';
import { paymentProcessorSchema } from './event.js';
import { metadataSchema } from './metadata.js';

const emailOrEmpty = z.email({ pattern: new RegExp(`^$|${z.regexes.email.source}`) });
const customerFields = {
  customerName: z.string().max(100).nullish().describe('Name of a new customer.'),
  customerEmail: emailOrEmpty.max(100).nullish().describe('Email of a new customer. An empty text counts as absent.'),
  customerAvatar: z.string().max(URL_CHARS_MAX).nullish().describe('URL of a picture of a new customer.'),
};

/** Sets `customerExternalId`, if it is absent or empty, from the deprecated aliases `externalId` or else `customerId`. */
function withAliases(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const fields = body as Record<string, unknown>;
  const given = [fields.customerExternalId, fields.externalId, fields.customerId].filter((id) => id != null);
  return { ...fields, customerExternalId: given.find((id) => id !== '') ?? given[0] };
}

const HOST_CHARS_MAX = 2048;
const host = z.string().min(1).max(HOST_CHARS_MAX);
const referrer = z.string().max(URL_CHARS_MAX).nullish();
const pageUrl = z.string().max(URL_CHARS_MAX, { abort: true });
const isUrl = formatCheck((text) => parseUrl(text) !== undefined, 'must be a URL');
const isUrlOrEmpty = formatCheck((text) => text === '' || parseUrl(text) !== undefined, 'must be a URL');
const clickId = z.string().trim().max(255);
const LEAD_CLICK = 'Id of the click: the parameter `dub_id` of the destination.';

/** Body of `POST /track/click`. */
export const trackClickBodySchema = z.object({
  domain: host.describe('Domain of the short link.'),
  key: z.string().min(1).max(2048).describe('Key of the short link.'),
  url: pageUrl.nullish().describe('Address of the page.'),
  referrer: referrer.describe('Page that the visitor came from, in place of the `Referer` header.'),
});
export type TrackClickBody = z.infer<typeof trackClickBodySchema>;

/** Body of `POST /track/open`. Apps may send an empty text for a field that they have no value for. */
export const trackOpenBodySchema = z
  .object({
    deepLink: pageUrl.check(isUrlOrEmpty).nullish().describe('Short link that opened the app.'),
    dubDomain: z
      .string()
      .max(HOST_CHARS_MAX)
      .nullish()
      .describe('Domain of the short link, at the first start of an app.'),
  })
  .refine(({ deepLink, dubDomain }) => Boolean(deepLink) || Boolean(dubDomain), {
    message: 'deepLink or dubDomain must be given',
    path: ['deepLink'],
  });
export type TrackOpenBody = z.infer<typeof trackOpenBodySchema>;

/** Body of `POST /track/visit`. */
export const trackVisitBodySchema = z.object({
  domain: host.describe('Domain of the workspace’s short links.'),
  url: pageUrl.check(isUrl).describe('Address of the page.'),
  referrer: referrer.describe('Page that the visitor came from, in place of the `Referer` header.'),
});
export type TrackVisitBody = z.infer<typeof trackVisitBodySchema>;

const leadFields = {
  eventName: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .describe('Name of the lead. A customer has one lead of a name, in any case and with hyphens for spaces.'),
  customerExternalId: customerExternalIdSchema.describe(
    'Your own id of the customer. Deprecated aliases: `externalId`, `customerId`.',
  ),
  ...customerFields,
  mode: z
    .enum(['async', 'wait', 'deferred'])
    .default('async')
    .describe(
      '`async` and `wait` record the lead. `deferred` only creates the customer, or gives a customer without a click this one; a later call without `clickId` records the lead.',
    ),
  eventQuantity: z.int().min(1).max(100).nullish().describe('How many leads the call counts for.'),
  metadata: metadataSchema,
};

/** Body of `POST /track/lead`. */
export const trackLeadBodySchema = z.preprocess(
  withAliases,
  z.object({
    clickId: clickId
      .nullish()
      .describe(`${LEAD_CLICK} Absent for a customer who exists: the click that brought the customer.`),
    ...leadFields,
  }),
);
export type TrackLeadBody = z.infer<typeof trackLeadBodySchema>;

/** Body of `POST /track/lead/client`: no aliases, and `clickId` is required. */
export const trackLeadClientBodySchema = z.object({ clickId: clickId.min(1).describe(LEAD_CLICK), ...leadFields });

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
  customerExternalId: customerExternalIdSchema.describe(
    'Your own id of the customer. Deprecated aliases: `externalId`, `customerId`.',
  ),
  amount: amount.describe(
    'Amount in cents, or in whole units of a currency without cents. With 0 no sale is recorded, only a new customer and its lead.',
  ),
  currency: z
    .string()
    .trim()
    .toLowerCase()
    .max(100)
    .regex(/^[a-z]{3}$/, 'must be three letters')
    .default('usd')
    .describe('Three-letter code of the currency.'),
  eventName: z
    .string()
    .trim()
    .max(255)
    .overwrite((name) => name || DEFAULT_SALE_NAME)
    .default(DEFAULT_SALE_NAME)
    .describe('Name of the sale.'),
  paymentProcessor: paymentProcessorSchema.default('custom').describe('Where the payment was made.'),
  invoiceId: z
    .string()
    .trim()
    .max(255)
    .nullish()
    .describe('Idempotency key: a sale with an invoice that is stored already is not recorded again.'),
  metadata: metadataSchema,
  leadEventName: z
    .string()
    .trim()
    .max(255)
    .nullish()
    .describe('Attributes the sale to the customer’s latest lead of this name; to the latest lead by default.'),
  clickId: clickId.nullish().describe('Id of the click (`dub_id`), for a customer who does not exist yet.'),
  ...customerFields,
});

/** Body of `POST /track/sale`. `amount` is in minor units of `currency`. */
export const trackSaleBodySchema = z.preprocess(withAliases, saleSchema);
export type TrackSaleBody = z.infer<typeof trackSaleBodySchema>;

/** Body of `POST /track/sale/client`: no aliases. */
export const trackSaleClientBodySchema = saleSchema;

/** Response of `POST /track/click`. `partner` and `discount` are present for partner links only. */
export const trackClickResponseSchema = z.strictObject({
  clickId: z
    .string()
    .describe(
      'Id of the click, or of an earlier click of the visitor within the hour. Robots get an id of no click; visitors who ask not to be tracked get an empty one if the workspace has it so.',
    ),
  partner: z
    .strictObject({
      id: z.string().describe('Id of the partner.'),
      name: z
        .string()
        .describe('Name of the partner; of one without a name, the username or the part of the email before the `@`.'),
      image: z.string().nullable().describe('URL of an image of the partner.'),
      groupId: z.string().optional().describe('Id of the group of the partner.'),
      tenantId: z.string().optional().describe('Your own id of the tenant that the partner stands for.'),
    })
    .optional()
    .describe('The partner of the link.'),
  discount: z.null().optional().describe('Always `null`: there are no discounts.'),
});
export type TrackClickResponse = z.infer<typeof trackClickResponseSchema>;

/** Response of `POST /track/visit`. */
export const trackVisitResponseSchema = z.strictObject({
  clickId: z
    .string()
    .describe(
      'Id of the click, or of an earlier click of the visitor within the hour. Robots get an id of no click; visitors who ask not to be tracked get an empty one if the workspace has it so.',
    ),
});
export type TrackVisitResponse = z.infer<typeof trackVisitResponseSchema>;

/** Response of `POST /track/open`; both fields are null when no click was found for the app. */
export const trackOpenResponseSchema = z.strictObject({
  clickId: z.string().nullable().describe('Id of the click; `null` when there is none.'),
  link: z
    .strictObject({
      id: z.string().describe('Id of the link.'),
      domain: z.string().describe('Domain of the link.'),
      key: z.string().describe('Key of the link.'),
      url: z.string().describe('Destination of the link.'),
    })
    .nullable()
    .describe('The clicked link; `null` when there is none.'),
});
export type TrackOpenResponse = z.infer<typeof trackOpenResponseSchema>;

/** The link in the response of `POST /track/lead`. */
const trackedLinkSchema = z.strictObject({
  id: z.string().describe('Id of the link.'),
  domain: z.string().describe('Domain of the link.'),
  key: z.string().describe('Key of the link.'),
  shortLink: z.string().describe('Address of the link.'),
  url: z.string().describe('Destination of the link.'),
  partnerId: z.string().nullable().describe('Id of the partner of the link.'),
  programId: z.string().nullable().describe('Id of the partner program of the link.'),
  tenantId: z.string().nullable().describe('Your own id of the tenant that the link belongs to.'),
  externalId: z.string().nullable().describe('Your own id of the link.'),
});

/** Response of `POST /track/lead`; `link` is null for a duplicate, which is not recorded. */
export const trackLeadResponseSchema = z.strictObject({
  click: z.strictObject({ id: z.string().describe('Id of the click.') }).describe('The click that led to the lead.'),
  link: trackedLinkSchema.nullable().describe('The clicked link; `null` for a repeated lead, which is not recorded.'),
  customer: z
    .strictObject({
      name: z.string().nullable().describe('Name of the customer.'),
      email: z.string().nullable().describe('Email of the customer.'),
      avatar: z.string().nullable().describe('URL of a picture of the customer.'),
      externalId: z.string().nullable().describe('Your own id of the customer.'),
    })
    .describe('The customer.'),
});
export type TrackLeadResponse = z.infer<typeof trackLeadResponseSchema>;

/** Response of `POST /track/sale`; `customer` and `sale` are null when nothing was recorded. */
export const trackSaleResponseSchema = z.strictObject({
  eventName: z.string().describe('Name of the sale.'),
  customer: z
    .strictObject({
      id: z.string().describe('Id of the customer.'),
      name: z.string().nullable().describe('Name of the customer.'),
      email: z.string().nullable().describe('Email of the customer.'),
      avatar: z.string().nullable().describe('URL of a picture of the customer.'),
      externalId: z.string().nullable().describe('Your own id of the customer.'),
    })
    .nullable()
    .describe('The customer; `null` when nothing was recorded.'),
  sale: z
    .strictObject({
      amount: z
        .number()
        .describe('Amount in cents of USD; as it was sent if its currency has no rate, and by `/track/sale/client`.'),
      currency: z
        .string()
        .describe('Currency of the amount: `usd`, or as it was sent if it has no rate, and by `/track/sale/client`.'),
      paymentProcessor: paymentProcessorSchema.describe('Where the payment was made.'),
      invoiceId: z.string().nullable().describe('Your own id of the invoice.'),
      metadata: z
        .record(z.string(), jsonValueSchema)
        .nullable()
        .describe('Metadata of the sale, its numbers as doubles.'),
    })
    .nullable()
    .describe('The recorded sale; `null` when nothing was recorded.'),
});
export type TrackSaleResponse = z.infer<typeof trackSaleResponseSchema>;
