import {
  contains,
  dataText,
  equals,
  equalsId,
  equalsIgnoringCase,
  hasId,
  ifDefined,
} from '../lists/list-conditions.js';
import { BY_CREATION, type SortRule } from '../lists/record-list.js';
import type { CustomerRecord } from '../model/record-schemas.js';
import type { New, ResourceRules } from '../resources/resource.js';

export type NewCustomer = New<CustomerRecord, 'externalId'>;

export interface CustomerFilters {
  readonly email?: string | undefined;
  readonly externalId?: string | undefined;
  /** A whole email address, or part of the name, the email or the external id. */
  readonly search?: string | undefined;
  readonly country?: string | undefined;
  readonly linkId?: string | undefined;
  readonly programId?: string | undefined;
  readonly partnerId?: string | undefined;
}

function customerTotals(column: string, aggregate: string): SortRule {
  const totals = `SELECT customer_id AS id, ${aggregate} AS ${column} FROM customer_totals
WHERE workspace_id = {workspace:UInt64} GROUP BY customer_id`;
  return { join: `LEFT JOIN (${totals}) AS totals USING (id)`, by: column };
}

export const CUSTOMER_RULES: ResourceRules<
  CustomerRecord,
  NewCustomer,
  CustomerFilters,
  'createdAt' | 'saleAmount' | 'firstSaleAt' | 'subscriptionCanceledAt'
> = {
  title: 'customer',
  complete: (input) => ({
    name: null,
    email: null,
    avatar: null,
    stripeCustomerId: null,
    country: null,
    clickId: null,
    linkId: null,
    programId: null,
    partnerId: null,
    clickedAt: null,
    subscriptionCanceledAt: null,
    ...input,
  }),
  conditions: ({ email, externalId, search, country, linkId, programId, partnerId }) => [
    ...ifDefined(email, (value) => equalsIgnoringCase('email', value)),
    ...ifDefined(externalId, (value) => equals('external_id', value)),
    ...ifDefined(search, (text) =>
      text.includes('@')
        ? equalsIgnoringCase('email', text, 'searched_email')
        : contains(['email', 'external_id', dataText('name')], text),
    ),
    ...ifDefined(country, (value) => equals('country', value)),
    ...ifDefined(linkId, (id) => hasId('link_id', 'link', [id])),
    ...ifDefined(programId, (id) => equalsId(dataText('programId'), 'program', id, 'program')),
    ...ifDefined(partnerId, (id) => equalsId(dataText('partnerId'), 'partner', id, 'partner')),
  ],
  sorts: {
    createdAt: BY_CREATION,
    saleAmount: customerTotals('sale_amount', 'sum(sale_amount)'),
    firstSaleAt: customerTotals('first_sale_at', 'min(first_sale_at)'),
    subscriptionCanceledAt: { by: `nullIf(${dataText('subscriptionCanceledAt')}, '')` },
  },
};
