import type { DomainRecord } from '@waymark/catalog';
import type { LinkDeps } from '../links/link-deps.js';
import type { PartnerCaller } from './partner-caller.js';

/** Sets the domain of the program. @returns the domain that it has then: that of another request, if that was first */
async function setDomain(
  { catalog }: LinkDeps,
  { workspace, program }: PartnerCaller,
  domain: DomainRecord,
): Promise<DomainRecord> {
  const { domainId } = await catalog.programs.update(workspace.id, program.id, (stored) =>
    stored.domainId === program.domainId ? { domainId: domain.id } : {},
  );
  return (domainId === null ? undefined : await catalog.domains.get(workspace.id, domainId)) ?? domain;
}

/**
 * The domain of the next partner link; undefined when there is none. A program without a domain keeps the one that its workspace has for
 * links without a domain, so that later partner links are on it too, whichever domain is primary then. An archived domain is left out: its
 * links do not redirect.
 */
export async function programDomain(deps: LinkDeps, caller: PartnerCaller): Promise<string | undefined> {
  const { domains } = deps.catalog;
  const { workspace, program } = caller;
  const own = program.domainId === null ? undefined : await domains.get(workspace.id, program.domainId);
  if (own !== undefined && !own.archived) return own.slug;
  const primary = await domains.primary(workspace.id);
  if (primary === undefined) return deps.defaultDomain;
  // Without a served primary domain, `primary` is another one in its place, which the program must not keep.
  return own === undefined && primary.primary ? (await setDomain(deps, caller, primary)).slug : primary.slug;
}
