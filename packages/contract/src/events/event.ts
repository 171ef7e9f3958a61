import { z } from 'zod';
import { linkSchema } from '../links/link.js';
import { jsonValueSchema } from '../values/json-value.js';
import { customerSchema } from './customer.js';

/** What a visitor did to cause a click: scanned a QR code, followed a link, opened a page or opened an app. */
export const TRIGGERS = ['qr', 'link', 'pageview', 'deeplink'] as const;
export const triggerSchema = z.enum(TRIGGERS);
export type Trigger = (typeof TRIGGERS)[number];

/** Codes of the continents. */
export const CONTINENTS = ['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA'] as const;

/** Values of `paymentProcessor` of a sale. */
export const PAYMENT_PROCESSORS = [
  'stripe',
  'shopify',
  'polar',
  'paddle',
  'apple',
  'revenuecat',
  'lemonsqueezy',
  'dub',
  'custom',
] as const;
export const paymentProcessorSchema = z.enum(PAYMENT_PROCESSORS);
export type PaymentProcessor = (typeof PAYMENT_PROCESSORS)[number];

/** The click object inside every event. */
export const clickSchema = z.strictObject({
  id: z.string().describe('Id of the click: 16 letters and digits.'),
  timestamp: z.iso.datetime().describe('Time of the click.'),
  url: z.string().describe('Destination that the visitor was sent to, or the page of a page view.'),
  country: z.string().describe('Two-letter code of the visitor’s country, or `Unknown`.'),
  city: z.string().describe('City of the visitor, or `Unknown`.'),
  region: z.string().describe('Subdivision of the visitor’s country, such as `US-CA`, or `Unknown`.'),
  continent: z.string().describe('Code of the visitor’s continent; empty if it is not known.'),
  device: z
    .string()
    .describe(
      'Kind of device: `Desktop`, `Mobile`, `Tablet`, `Smarttv` or `Console`; of an imported click, the word of its source.',
    ),
  browser: z.string().describe('Name of the browser, or `Unknown`.'),
  os: z.string().describe('Name of the operating system, or `Unknown`.'),
  ua: z.string().nullable().describe('User agent of the browser; may be empty for an imported click.'),
  trigger: triggerSchema
    .nullable()
    .describe('What the visitor did: scanned a QR code, followed a link, opened a page or opened an app.'),
  referer: z.string().describe('Host of the page that the visitor came from, or `(direct)`.'),
  refererUrl: z.string().describe('Page that the visitor came from, without its query, or `(direct)`.'),
  qr: z.boolean().describe('Whether a QR code was scanned.'),
  ip: z.string().describe('Address of the visitor; empty if it is not stored.'),
});

/** Deprecated fields of every event, which repeat values of `click` and `link`. */
const deprecatedFields = {
  click_id: z.string().describe('Deprecated: `click.id`.'),
  link_id: z.string().describe('Deprecated: `link.id`.'),
  domain: z.string().describe('Deprecated: `link.domain`.'),
  key: z.string().describe('Deprecated: `link.key`.'),
  url: z.string().describe('Deprecated: `click.url`.'),
  continent: z.string().describe('Deprecated: `click.continent`.'),
  country: z.string().describe('Deprecated: `click.country`.'),
  city: z.string().describe('Deprecated: `click.city`.'),
  device: z.string().describe('Deprecated: `click.device`.'),
  browser: z.string().describe('Deprecated: `click.browser`.'),
  os: z.string().describe('Deprecated: `click.os`.'),
  qr: z.union([z.literal(0), z.literal(1)]).describe('Deprecated: `click.qr`, as 0 or 1.'),
  ip: z.string().describe('Deprecated: `click.ip`.'),
};

/** The sale object inside a sale event. */
export const saleDetailSchema = z.strictObject({
  amount: z
    .int()
    .describe('Amount in cents of USD. Without a rate for the currency of the sale: in minor units of `currency`.'),
  invoiceId: z.string().nullable().describe('Your own id of the invoice.'),
  paymentProcessor: paymentProcessorSchema.describe('Where the payment was made.'),
  currency: z.string().describe('Three-letter code of the currency of `amount`.'),
});

/** A click of `GET /events`. */
export const clickEventSchema = z.strictObject({
  event: z.literal('click').describe('The kind of event.'),
  timestamp: z.iso.datetime().describe('Time of the click.'),
  click: clickSchema,
  link: linkSchema,
  ...deprecatedFields,
});

/** A lead of `GET /events`. */
export const leadEventSchema = z.strictObject({
  event: z.literal('lead').describe('The kind of event.'),
  timestamp: z.iso.datetime().describe('Time of the lead.'),
  eventId: z.string().describe('Id of the lead: 16 letters and digits.'),
  eventName: z.string().describe('Name of the lead, as it was sent.'),
  metadata: jsonValueSchema.nullable().describe('Metadata of the lead, its numbers as doubles.'),
  click: clickSchema,
  link: linkSchema,
  customer: customerSchema,
  ...deprecatedFields,
});

/** A sale of `GET /events`. */
export const saleEventSchema = z.strictObject({
  event: z.literal('sale').describe('The kind of event.'),
  timestamp: z.iso.datetime().describe('Time of the sale.'),
  eventId: z.string().describe('Id of the sale: 16 letters and digits.'),
  eventName: z.string().describe('Name of the sale, as it was sent.'),
  sale: saleDetailSchema.describe('The payment.'),
  metadata: jsonValueSchema.nullable().describe('Metadata of the sale, its numbers as doubles.'),
  click: clickSchema,
  link: linkSchema,
  customer: customerSchema,
  saleAmount: z.number().describe('Deprecated: `sale.amount`.'),
  invoice_id: z.string().describe('Deprecated: `sale.invoiceId`, or an empty text.'),
  payment_processor: z.string().describe('Deprecated: `sale.paymentProcessor`.'),
  ...deprecatedFields,
});

/** One item of `GET /events` (docs/reference/events.md). */
export const eventSchema = z.discriminatedUnion('event', [clickEventSchema, leadEventSchema, saleEventSchema]);
export type ListedEvent = z.infer<typeof eventSchema>;
