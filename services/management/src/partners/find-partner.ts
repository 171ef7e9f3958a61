import type { Catalog, PartnerRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';

/** How a request names a partner; `partnerId` wins. */
export interface PartnerReference {
  readonly partnerId?: string | null | undefined;
  readonly tenantId?: string | null | undefined;
}

/** @throws ApiError bad_request when neither is given, not_found */
export async function findPartner(
  catalog: Catalog,
  workspaceId: string,
  { partnerId, tenantId }: PartnerReference,
): Promise<PartnerRecord> {
  if (partnerId) return catalog.partners.require(workspaceId, partnerId);
  if (!tenantId) throw new ApiError('bad_request', 'Name the partner: partnerId or tenantId.');
  const partner = await catalog.partners.findByTenantId(workspaceId, tenantId);
  if (partner === undefined) throw new ApiError('not_found', 'Partner not found.');
  return partner;
}
