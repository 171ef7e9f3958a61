import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { URL_CHARS_MAX, webAddress } from '../values/parse-url.js';
import { queryBoolean, queryLink, queryText } from '../values/query-values.js';

/** The customer object of every response: twelve fields, all present. `saleAmount` is in cents of USD. */
export const customerSchema = z.strictObject({
  id: z.string(),
  externalId: z.string(),
  name: z.string().nullable(),
  email: z.string().nullable(),
  avatar: z.string().nullable(),
  stripeCustomerId: z.string().nullable(),
  country: z.string().nullable(),
  sales: z.number().nullable(),
  saleAmount: z.number().nullable(),
  createdAt: z.string(),
  firstSaleAt: z.string().nullable(),
  subscriptionCanceledAt: z.string().nullable(),
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
      id: z.string(),
      domain: z.string(),
      key: z.string(),
      shortLink: z.string(),
      url: z.string(),
      programId: z.string().nullable(),
    })
    .nullable()
    .optional(),
  programId: z.string().nullable().optional(),
  partner: z
    .strictObject({ id: z.string(), name: z.string(), email: z.string().nullable(), image: z.string().nullable() })
    .nullable()
    .optional(),
  discount: z.null().optional(),
});
export type ExpandedCustomer = z.infer<typeof expandedCustomerSchema>;

const CUSTOMER_TEXT_CHARS_MAX = 100;
const text = z.string().max(CUSTOMER_TEXT_CHARS_MAX);

/** The caller's own id of a customer, as in every request body. It is stored unchanged, with spaces and a leading `ext_`. */
export const customerExternalIdSchema = text.min(1).regex(/\S/, 'must not be blank');

/** Body of `PATCH /customers/{id}`; `null` clears. */
export const updateCustomerBodySchema = z.object({
  externalId: customerExternalIdSchema.optional(),
  email: z.email().max(CUSTOMER_TEXT_CHARS_MAX).nullish(),
  name: text.nullish(),
  avatar: webAddress(URL_CHARS_MAX).nullish(),
  stripeCustomerId: z.string().max(255).nullish(),
  country: z
    .string()
    .max(100)
    .regex(/^[A-Za-z]{2}$/, 'must be two letters')
    .toUpperCase()
    .nullish(),
});
export type UpdateCustomerBody = z.infer<typeof updateCustomerBodySchema>;

/** Body of `POST /customers`. */
export const createCustomerBodySchema = updateCustomerBodySchema.extend({
  externalId: customerExternalIdSchema,
  country: updateCustomerBodySchema.shape.country.unwrap().unwrap(),
});
export type CreateCustomerBody = z.infer<typeof createCustomerBodySchema>;

/** Highest page number in lists of customers; pages by cursor have no limit. */
export const CUSTOMER_PAGES_MAX = 1000;

/** The filters of `GET /customers`. */
export const customerFilterShape = {
  email: queryText,
  externalId: queryText,
  search: queryText,
  country: queryText,
  linkId: queryLink,
  programId: queryText,
  partnerId: queryText,
};

/** The query parameter that adds fields to customer objects; see {@link expandedCustomerSchema}. */
export const expandedShape = { includeExpandedFields: queryBoolean };

/** Query of `GET /customers`; sorted by creation, newest first, by default. */
export const listCustomersQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'saleAmount', 'firstSaleAt', 'subscriptionCanceledAt']),
  ...pageShape(),
  startingAfter: queryText,
  endingBefore: queryText,
  ...customerFilterShape,
  ...expandedShape,
});
export type ListCustomersQuery = z.infer<typeof listCustomersQuerySchema>;
export type CustomerFilterQuery = Pick<ListCustomersQuery, keyof typeof customerFilterShape>;

/** Query of `GET` and `PATCH /customers/{id}`. */
export const expandedQuerySchema = closedQuery(expandedShape);
