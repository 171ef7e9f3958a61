import type { z } from 'zod';
import { customerFilterShape, expandedShape } from '../events/customer.js';
import { linkFilterShape } from '../links/link-queries.js';
import { closedQuery } from '../values/closed-query.js';
import { sortShape } from '../values/paging.js';
import { exportShape } from './export-parameters.js';

const LINK_DEFAULTS = [
  'link',
  'url',
  'clicks',
  'createdAt',
  'leads',
  'conversions',
  'saleAmount',
  'id',
  'updatedAt',
  'tags',
  'archived',
] as const;
const LINK_EXTRAS = [
  'domain',
  'key',
  'externalId',
  'tenantId',
  'programId',
  'partnerId',
  'folderId',
  'userId',
  'title',
  'description',
  'image',
  'comments',
  'sales',
  'lastClicked',
  'expiresAt',
  'expiredUrl',
  'ios',
  'android',
  'trackConversion',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
] as const;
/** A column of an exported file of links. */
export type LinkColumn = (typeof LINK_DEFAULTS | typeof LINK_EXTRAS)[number];
/** The columns that a file of links has by default, in this order, and those that it has only on request. */
export const LINK_COLUMNS = { defaults: LINK_DEFAULTS, extras: LINK_EXTRAS } as const;

const CUSTOMER_DEFAULTS = [
  'id',
  'externalId',
  'name',
  'email',
  'country',
  'sales',
  'saleAmount',
  'createdAt',
  'firstSaleAt',
] as const;
const CUSTOMER_EXTRAS = ['avatar', 'stripeCustomerId', 'subscriptionCanceledAt'] as const;
/** A column of an exported file of customers. */
export type CustomerColumn = (typeof CUSTOMER_DEFAULTS | typeof CUSTOMER_EXTRAS)[number];
/** The columns that a file of customers has by default, in this order, and those that it has only on request. */
export const CUSTOMER_COLUMNS = { defaults: CUSTOMER_DEFAULTS, extras: CUSTOMER_EXTRAS } as const;

/** Query of `GET /links/export`: that of `GET /links` without pages, sorted by time of creation: newest first, unless `sortOrder` is `asc`. */
export const exportLinksQuerySchema = closedQuery({
  ...linkFilterShape,
  ...sortShape(['createdAt'], 'desc'),
  ...exportShape([...LINK_DEFAULTS, ...LINK_EXTRAS]),
});
export type ExportLinksQuery = z.infer<typeof exportLinksQuerySchema>;

/** Query of `GET /customers/export`: that of `GET /customers` without pages, sorted in the same way. */
export const exportCustomersQuerySchema = closedQuery({
  ...customerFilterShape,
  ...expandedShape,
  ...sortShape(['createdAt'], 'desc'),
  ...exportShape([...CUSTOMER_DEFAULTS, ...CUSTOMER_EXTRAS]),
});
export type ExportCustomersQuery = z.infer<typeof exportCustomersQuerySchema>;
