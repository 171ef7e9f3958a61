import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX, webAddress } from '../values/parse-url.js';
import { queryBoolean, queryText } from '../values/query-values.js';

/** The customer object of every response: twelve fields, all present. `saleAmount` is in cents of USD. */
export const customerSchema = z.strictObject({
  id: z.string().describe('Id of the customer, `cus_…`.'),
  externalId: z.string().describe('Your own id of the customer.'),
  name: z.string().nullable().describe('Name of the customer; without one, the email or a generated name.'),
  email: z.string().nullable().describe('Email of the customer.'),
  avatar: z.string().nullable().describe('URL of a picture of the customer.'),
  stripeCustomerId: z.string().nullable().describe('Id of the customer at Stripe.'),
  country: z.string().nullable().describe('Two-letter code of the customer’s country.'),
  sales: z.number().nullable().describe('Number of sales.'),
  saleAmount: z.number().nullable().describe('Total of the sales, in cents of USD.'),
  createdAt: z.string().describe('When the customer was created.'),
  firstSaleAt: z.string().nullable().describe('Time of the first sale.'),
  subscriptionCanceledAt: z.string().nullable().describe('Always `null`.'),
});
export type Customer = z.infer<typeof customerSchema>;

/** The customer object in events whose customer was deleted. */
export function deletedCustomer(id: string): Customer {
  return {
    id,
    externalId: id,
    name: 'Deleted Customer',
    email: 'deleted@customer.com',
    avatar: null,
    stripeCustomerId: null,
    country: null,
    sales: null,
    saleAmount: null,
    createdAt: '1970-01-01T00:00:00.000Z',
    firstSaleAt: null,
    subscriptionCanceledAt: null,
  };
}

/**
 * The customer object with `includeExpandedFields`: adds the link, program and partner that brought the customer. Discounts do not exist.
 */
export const expandedCustomerSchema = customerSchema.extend({
  link: z
    .strictObject({
      id: z.string().describe('Id of the link.'),
      domain: z.string().describe('Domain of the link.'),
      key: z.string().describe('Key of the link.'),
      shortLink: z.string().describe('Address of the link.'),
      url: z.string().describe('Destination of the link.'),
      programId: z.string().nullable().describe('Id of the partner program of the link.'),
    })
    .nullable()
    .optional()
    .describe('The link that brought the customer.'),
  programId: z.string().nullable().optional().describe('Id of the partner program that brought the customer.'),
  partner: z
    .strictObject({
      id: z.string().describe('Id of the partner.'),
      name: z.string().describe('Name of the partner.'),
      email: z.string().nullable().describe('Email of the partner.'),
      image: z.string().nullable().describe('URL of an image of the partner.'),
    })
    .nullable()
    .optional()
    .describe('The partner who brought the customer.'),
  discount: z.null().optional().describe('Always `null`: there are no discounts.'),
});
export type ExpandedCustomer = z.infer<typeof expandedCustomerSchema>;

const CUSTOMER_TEXT_CHARS_MAX = 100;
const text = z.string().max(CUSTOMER_TEXT_CHARS_MAX);

const emailSchema = z.email().max(CUSTOMER_TEXT_CHARS_MAX);

/** Whether a text is an email that a new customer may have. */
export function isCustomerEmail(text: string): boolean {
  return emailSchema.safeParse(text).success;
}

/** The message for a text that is no email. */
export const EMAIL_RULE = 'must be an email address';

/** The caller's own id of a customer, as in every request body. It is stored unchanged, with spaces and a leading `ext_`. */
export const customerExternalIdSchema = text.min(1).regex(/\S/, 'must not be blank');

/** Body of `PATCH /customers/{id}`; `null` clears. */
export const updateCustomerBodySchema = z.object({
  externalId: customerExternalIdSchema.optional().describe('Your own id of the customer, unique in the workspace.'),
  email: text.nullish().describe('Email of the customer; any other text only if it is the stored one.'),
  name: text.nullish().describe('Name of the customer.'),
  avatar: z
    .string()
    .max(URL_CHARS_MAX)
    .nullish()
    .describe('URL of a picture of the customer, http or https; any other text only if it is the stored one.'),
  stripeCustomerId: z.string().max(255).nullish().describe('Id of the customer at Stripe.'),
  country: z
    .string()
    .max(100)
    .regex(/^[A-Za-z]{2}$/, 'must be two letters')
    .toUpperCase()
    .nullish()
    .describe('Two-letter code of the customer’s country.'),
});
export type UpdateCustomerBody = z.infer<typeof updateCustomerBodySchema>;

/** Body of `POST /customers`. */
export const createCustomerBodySchema = updateCustomerBodySchema.extend({
  externalId: customerExternalIdSchema.describe('Your own id of the customer, unique in the workspace.'),
  email: emailSchema.nullish().describe('Email of the customer.'),
  avatar: webAddress(URL_CHARS_MAX).nullish().describe('URL of a picture of the customer, http or https.'),
  country: updateCustomerBodySchema.shape.country
    .unwrap()
    .unwrap()
    .describe('Two-letter code of the customer’s country.'),
});
export type CreateCustomerBody = z.infer<typeof createCustomerBodySchema>;

/** Highest page number in lists of customers; pages by cursor have no limit. */
export const CUSTOMER_PAGES_MAX = 1000;

/** The filters of `GET /customers`. */
export const customerFilterShape = {
  email: queryText.describe('Only the customer with this email; `externalId` and `search` are ignored beside it.'),
  externalId: queryText.describe('Only the customer with this id of your own, without `ext_`.'),
  search: queryText.describe(
    'Part of the name, of the email or of your own id, in any case; with an `@`, a whole email.',
  ),
  country: queryText.describe('Only customers from this country, as a two-letter code.'),
  linkId: queryText.describe(
    'Only customers that this link brought: a `link_…` id, or `ext_` and your own id; any other text matches nothing.',
  ),
  programId: queryText.describe('Only customers that links of this partner program brought.'),
  partnerId: queryText.describe('Only customers that this partner brought.'),
};

/** The query parameter that adds fields to customer objects; see {@link expandedCustomerSchema}. */
export const expandedShape = {
  includeExpandedFields: queryBoolean.describe('`true` adds `link`, `programId`, `partner` and `discount`.'),
};

/** Query of `GET /customers`; sorted by creation, newest first, by default. */
export const listCustomersQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'saleAmount', 'firstSaleAt', 'subscriptionCanceledAt'], 'desc'),
  ...pageShape(),
  startingAfter: queryText.describe('Lists the customers after the one with this id; `page` is ignored.'),
  endingBefore: queryText.describe('Lists the customers before the one with this id; `page` is ignored.'),
  ...customerFilterShape,
  ...expandedShape,
});
export type ListCustomersQuery = z.infer<typeof listCustomersQuerySchema>;
export type CustomerFilterQuery = Pick<ListCustomersQuery, keyof typeof customerFilterShape>;

/** Query of `GET` and `PATCH /customers/{id}`. */
export const expandedQuerySchema = closedQuery(expandedShape);
