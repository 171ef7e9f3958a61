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
  id: z.string(),
  timestamp: z.iso.datetime(),
  url: z.string(),
  country: z.string(),
  city: z.string(),
  region: z.string(),
  continent: z.string(),
  device: z.string(),
  browser: z.string(),
  os: z.string(),
  ua: z.string().nullable(),
  trigger: triggerSchema.nullable(),
  referer: z.string(),
  refererUrl: z.string(),
  qr: z.boolean(),
  ip: z.string(),
});
export type Click = z.infer<typeof clickSchema>;

/** Deprecated fields of every event, which repeat values of `click` and `link`. */
const deprecatedFields = {
  click_id: z.string(),
  link_id: z.string(),
  domain: z.string(),
  key: z.string(),
  url: z.string(),
  continent: z.string(),
  country: z.string(),
  city: z.string(),
  device: z.string(),
  browser: z.string(),
  os: z.string(),
  qr: z.union([z.literal(0), z.literal(1)]),
  ip: z.string(),
};

/** The sale object inside a sale event. */
export const saleDetailSchema = z.strictObject({
  /** In minor units of `currency`, which is `usd` if the rate was known (docs/reference/tracking.md). */
  amount: z.int(),
  invoiceId: z.string().nullable(),
  paymentProcessor: paymentProcessorSchema,
  currency: z.string(),
});

/** A click of `GET /events`. */
export const clickEventSchema = z.strictObject({
  event: z.literal('click'),
  timestamp: z.iso.datetime(),
  click: clickSchema,
  link: linkSchema,
  ...deprecatedFields,
});

/** A lead of `GET /events`. */
export const leadEventSchema = z.strictObject({
  event: z.literal('lead'),
  timestamp: z.iso.datetime(),
  eventId: z.string(),
  eventName: z.string(),
  metadata: jsonValueSchema.nullable(),
  click: clickSchema,
  link: linkSchema,
  customer: customerSchema,
  ...deprecatedFields,
});

/** A sale of `GET /events`. */
export const saleEventSchema = z.strictObject({
  event: z.literal('sale'),
  timestamp: z.iso.datetime(),
  eventId: z.string(),
  eventName: z.string(),
  sale: saleDetailSchema,
  metadata: jsonValueSchema.nullable(),
  click: clickSchema,
  link: linkSchema,
  customer: customerSchema,
  saleAmount: z.number(),
  invoice_id: z.string(),
  payment_processor: z.string(),
  ...deprecatedFields,
});

/** One item of `GET /events` (docs/reference/events.md). */
export const eventSchema = z.discriminatedUnion('event', [clickEventSchema, leadEventSchema, saleEventSchema]);
export type ListedEvent = z.infer<typeof eventSchema>;
