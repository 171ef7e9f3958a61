import { z } from 'zod';

/** The customer object of every response (spec 2.8): twelve fields, all present. */
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

/** Stands in for a customer whose record is gone (spec 2.8). */
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
