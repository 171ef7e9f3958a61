import type { Catalog, PartnerRecord } from '@waymark/catalog';
import { ApiError, EXTERNAL_ID_PREFIX, fieldError } from '@waymark/contract';

/** How a request selects a partner; `partnerId` takes precedence. */
export interface PartnerReference {
  readonly partnerId?: string | null | undefined;
  readonly tenantId?: string | null | undefined;
}

/** Finds the partner of a reference. @throws ApiError bad_request when it has neither id; not_found */
export async function findPartner(
  catalog: Catalog,
  workspaceId: string,
  { partnerId, tenantId }: PartnerReference,
): Promise<PartnerRecord> {
  if (partnerId) return catalog.partners.require(workspaceId, partnerId);
  if (!tenantId) throw fieldError('required', 'partnerId', 'partnerId or tenantId must be given');
  return findByTenant(catalog, workspaceId, tenantId);
}

/** Finds a partner by `pn_…` id or, with the prefix `ext_`, by tenantId. @throws ApiError not_found */
export function findPartnerAt(catalog: Catalog, workspaceId: string, reference: string): Promise<PartnerRecord> {
  if (!reference.startsWith(EXTERNAL_ID_PREFIX)) return catalog.partners.require(workspaceId, reference);
  return findByTenant(catalog, workspaceId, reference.slice(EXTERNAL_ID_PREFIX.length));
}

async function findByTenant(catalog: Catalog, workspaceId: string, tenantId: string): Promise<PartnerRecord> {
  const partner = await catalog.partners.findByTenantId(workspaceId, tenantId);
  if (partner === undefined) throw new ApiError('not_found', 'Partner not found.');
  return partner;
}
