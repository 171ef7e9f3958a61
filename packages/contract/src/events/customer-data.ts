import { z } from 'zod';
import { jsonValueSchema } from '../values/json-value.js';
import { clickSchema, saleDetailSchema } from './event.js';

const time = z.iso.datetime();
const text = z.string().nullable();

/** The record of a customer as it is stored, without the derived values of the customer object. */
const storedCustomerSchema = z.strictObject({
  id: z.string(),
  externalId: z.string(),
  name: text,
  email: text,
  avatar: text,
  stripeCustomerId: text,
  country: text,
  clickId: text,
  linkId: text,
  programId: text,
  partnerId: text,
  clickedAt: time.nullable(),
  subscriptionCanceledAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
});

const storedClickSchema = z.strictObject({ linkId: z.string(), storedAt: time, click: clickSchema });

const storedLeadSchema = storedClickSchema.extend({
  eventId: z.string(),
  timestamp: time,
  eventName: z.string(),
  metadata: jsonValueSchema.nullable(),
});

/** An attempt to deliver an event that names the customer, or a click of theirs. */
const storedDeliverySchema = z.strictObject({
  webhookId: z.string(),
  eventId: z.string(),
  event: z.string(),
  attempt: z.int(),
  timestamp: time,
  url: z.string(),
  status: z.int(),
  error: z.string(),
  /** The part of the sent body that is about the person: all but the link and the partner. */
  sent: z.strictObject({
    customer: jsonValueSchema.optional(),
    click: jsonValueSchema.optional(),
    sale: jsonValueSchema.optional(),
    eventName: jsonValueSchema.optional(),
    metadata: jsonValueSchema.optional(),
  }),
  /** What the receiver answered. */
  received: z.string(),
});

/** Response of `GET /customers/{id}/data`: all data that is stored about a customer (docs/reference/erasure.md). */
export const customerDataSchema = z.strictObject({
  /** Null when the record was removed and only events are left. */
  customer: storedCustomerSchema.nullable(),
  /** Counters; they include events that have expired since. `saleAmount` is in cents of USD. */
  totals: z.strictObject({ sales: z.number(), saleAmount: z.number(), firstSaleAt: text }),
  /** The click that brought the customer, and those that leads and sales of the customer name. */
  clicks: z.array(storedClickSchema),
  leads: z.array(storedLeadSchema),
  sales: z.array(storedLeadSchema.extend({ saleType: z.string(), sale: saleDetailSchema })),
  webhookDeliveries: z.array(storedDeliverySchema),
});
export type CustomerData = z.infer<typeof customerDataSchema>;
export type StoredDelivery = z.infer<typeof storedDeliverySchema>;
