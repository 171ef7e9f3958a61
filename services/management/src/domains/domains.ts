import {
  API_READ,
  type Catalog,
  type DomainRecord,
  foreignDomain,
  type WorkspaceRecord,
  workspaceLimits,
} from '@waymark/catalog';
import { ApiError, domainName, type UpdateDomainBody } from '@waymark/contract';
import { checkNotShared } from '@waymark/link-rules';
import { domainFields } from './domain-fields.js';

export interface DomainDeps {
  readonly catalog: Catalog;
  /** The domain that every workspace may use and none owns. */
  readonly defaultDomain: string | undefined;
}

/** The workspace's domain with that slug. @throws ApiError not_found, forbidden when it belongs to another workspace */
export async function ownDomain(catalog: Catalog, workspaceId: string, slug: string): Promise<DomainRecord> {
  const domain = await catalog.domains.findBySlug(domainName(slug), API_READ);
  if (domain === undefined) throw new ApiError('not_found', 'Domain not found.');
  if (domain.workspaceId !== workspaceId) throw foreignDomain(slug);
  return domain;
}

/** Like {@link ownDomain} for reads, which must not reveal whether another workspace has the domain. @throws ApiError not_found */
export async function visibleDomain(catalog: Catalog, workspaceId: string, slug: string): Promise<DomainRecord> {
  const domain = await catalog.domains.findBySlug(domainName(slug), API_READ);
  if (domain?.workspaceId !== workspaceId) throw new ApiError('not_found', 'Domain not found.');
  return domain;
}

/** `POST /domains`. @throws ApiError forbidden (plan, quota), unprocessable_entity, conflict */
export function createDomain(
  deps: DomainDeps,
  workspace: WorkspaceRecord,
  body: UpdateDomainBody & { readonly slug: string },
): Promise<DomainRecord> {
  const fields = domainFields(workspace.plan, body);
  if (fields.slug !== undefined) checkNotShared(fields.slug, deps.defaultDomain);
  const { domains } = workspaceLimits(workspace).quotas;
  return deps.catalog.domains.create(workspace.id, { slug: body.slug, ...fields }, domains);
}

/** `PATCH /domains/{slug}`. @throws ApiError unprocessable_entity, forbidden (plan, domain of another workspace), not_found, conflict */
export async function updateDomain(
  deps: DomainDeps,
  workspace: WorkspaceRecord,
  slug: string,
  body: UpdateDomainBody,
): Promise<DomainRecord> {
  const fields = domainFields(workspace.plan, body);
  const { id, slug: present } = await ownDomain(deps.catalog, workspace.id, slug);
  if (fields.slug !== undefined && fields.slug !== present) checkNotShared(fields.slug, deps.defaultDomain);
  return deps.catalog.domains.update(workspace.id, id, fields);
}

/** Whether the partner program creates links on the domain, or has links there. */
async function isProgramDomain(catalog: Catalog, workspace: WorkspaceRecord, domain: DomainRecord): Promise<boolean> {
  const program = await catalog.programs.get(workspace.id, workspace.defaultProgramId ?? '');
  return program?.domainId === domain.id || catalog.partners.hasLinksOn(workspace.id, domain.slug);
}

/** Removes what an interrupted removal of a domain has left. Links on the domain that all workspaces share need no record of a domain. */
async function finishRemoval({ catalog, defaultDomain }: DomainDeps, workspaceId: string, slug: string): Promise<void> {
  const name = domainName(slug);
  if (name === defaultDomain || (await catalog.domains.findBySlug(name, API_READ)) !== undefined) return;
  await catalog.domains.finishRemoval(workspaceId, name);
}

/**
 * `DELETE /domains/{slug}`. A repeated request completes one that was interrupted, also if it throws because there is no domain any more.
 *
 * @throws ApiError not_found, forbidden (domain of another workspace, or used by the partner program)
 */
export async function deleteDomain(deps: DomainDeps, workspace: WorkspaceRecord, slug: string): Promise<DomainRecord> {
  const { catalog } = deps;
  await finishRemoval(deps, workspace.id, slug);
  const domain = await ownDomain(catalog, workspace.id, slug);
  if (await isProgramDomain(catalog, workspace, domain)) {
    throw new ApiError('forbidden', `The domain "${domain.slug}" is used by the partner program.`);
  }
  return catalog.domains.remove(workspace.id, domain.id);
}
