import { type Catalog, normaliseKey } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkReference, ParsedFilters } from '@waymark/event-query';

async function findLink(catalog: Catalog, workspaceId: string, reference: LinkReference): Promise<string> {
  const link =
    reference.by === 'externalId'
      ? await catalog.links.findByExternalId(workspaceId, reference.externalId)
      : await catalog.links.findByAddress(reference.domain, normaliseKey(reference.key));
  // What another workspace has is not found, like what nobody has.
  if (link?.workspaceId === workspaceId) return link.id;
  if (reference.by === 'externalId' && !reference.hasPrefix) {
    throw new ApiError('bad_request', 'custom: externalId: must begin with "ext_"');
  }
  throw new ApiError('not_found', 'Link not found.');
}

/** Ids of what a request names in the caller's own words. */
export interface References {
  readonly linkId: string | undefined;
  /** Undefined = the request names none, or there is none. */
  readonly customerId: string | undefined;
}

/**
 * Looks up the one link and the customer that a request names (spec 2.2, 2.5).
 *
 * @throws ApiError 404 for a link that is not there, 400 for an external id that lacks its prefix and is not there
 */
export async function findReferences(
  catalog: Catalog,
  workspaceId: string,
  parsed: ParsedFilters,
): Promise<References> {
  const customer = parsed.filters.find(({ type }) => type === 'customer');
  const externalId =
    customer?.type === 'customer' && customer.customer.by === 'externalId' ? customer.customer.externalId : undefined;
  const [linkId, found] = await Promise.all([
    parsed.link && findLink(catalog, workspaceId, parsed.link),
    externalId === undefined ? undefined : catalog.customers.findByExternalId(workspaceId, externalId),
  ]);
  return { linkId, customerId: found?.id };
}
