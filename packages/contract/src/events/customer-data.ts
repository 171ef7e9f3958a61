import { z } from 'zod';
import { jsonValueSchema } from '../values/json-value.js';
import { clickSchema, saleDetailSchema } from './event.js';

const time = z.iso.datetime();
const text = z.string().nullable();

/** The record of a customer as it is stored, without the derived values of the customer object. */
const storedCustomerSchema = z.strictObject({
  id: z.string().describe('Id of the customer, `cus_…`.'),
  externalId: z.string().describe('Your own id of the customer.'),
  name: text.describe('Name of the customer, as it is stored.'),
  email: text.describe('Email of the customer.'),
  avatar: text.describe('URL of a picture of the customer.'),
  stripeCustomerId: text.describe('Id of the customer at Stripe.'),
  country: text.describe('Two-letter code of the customer’s country.'),
  clickId: text.describe('Id of the click that brought the customer.'),
  linkId: text.describe('Id of the link that brought the customer.'),
  programId: text.describe('Id of the partner program of that link.'),
  partnerId: text.describe('Id of the partner of that link.'),
  clickedAt: time.nullable().describe('Time of the click that brought the customer.'),
  subscriptionCanceledAt: time.nullable().describe('Always `null`.'),
  createdAt: time.describe('When the customer was created.'),
  updatedAt: time.describe('When the customer was last changed.'),
});

const storedClickSchema = z.strictObject({
  linkId: z.string().describe('Id of the clicked link.'),
  storedAt: time.describe('When the event was stored.'),
  click: clickSchema,
});

const storedLeadSchema = storedClickSchema.extend({
  eventId: z.string().describe('Id of the event.'),
  timestamp: time.describe('Time of the event.'),
  eventName: z.string().describe('Name of the event.'),
  metadata: jsonValueSchema.nullable().describe('Metadata of the event.'),
});

/** An attempt to deliver an event that names the customer, or a click of theirs. */
const storedDeliverySchema = z.strictObject({
  webhookId: z.string().describe('Id of the webhook.'),
  eventId: z.string().describe('Id of the delivered event, `evt_…`.'),
  event: z.string().describe('Kind of the delivered event.'),
  attempt: z.int().describe('Number of the attempt, from 1.'),
  timestamp: time.describe('Time of the attempt.'),
  url: z.string().describe('Where it was sent.'),
  status: z.int().describe('Status of the answer; 503 without an answer.'),
  error: z.string().describe('Why the attempt failed; empty after a success.'),
  sent: z
    .strictObject({
      customer: jsonValueSchema.optional().describe('The customer.'),
      click: jsonValueSchema.optional().describe('The click.'),
      sale: jsonValueSchema.optional().describe('The payment.'),
      eventName: jsonValueSchema.optional().describe('Name of the event.'),
      metadata: jsonValueSchema.optional().describe('Metadata of the event.'),
    })
    .describe('The part of the body that is about the person: all but the link and the partner.'),
  received: z.string().describe('Beginning of the answer of the receiver.'),
});

/** Response of `GET /customers/{id}/data`: all data that is stored about a customer (docs/reference/resources.md). */
export const customerDataSchema = z.strictObject({
  customer: storedCustomerSchema
    .nullable()
    .describe('The record as it is stored; `null` if it was removed and only events are left.'),
  totals: z
    .strictObject({
      sales: z.number().describe('Number of sales.'),
      saleAmount: z.number().describe('Total of the sales, in cents of USD.'),
      firstSaleAt: text.describe('Time of the first sale.'),
    })
    .describe('Counters; they include events that have expired since.'),
  clicks: z
    .array(storedClickSchema)
    .describe('The click that brought the customer, and those that leads and sales of the customer name.'),
  leads: z.array(storedLeadSchema).describe('Leads of the customer.'),
  sales: z
    .array(
      storedLeadSchema.extend({
        saleType: z.string().describe('`new` for the first sale of the customer on its link, otherwise `recurring`.'),
        sale: saleDetailSchema.describe('The payment.'),
      }),
    )
    .describe('Sales of the customer.'),
  webhookDeliveries: z
    .array(storedDeliverySchema)
    .describe('Attempts to deliver events that name the customer or one of these clicks.'),
});
export type CustomerData = z.infer<typeof customerDataSchema>;
export type StoredDelivery = z.infer<typeof storedDeliverySchema>;
