import { createResourceId, type Domain } from '@waymark/contract';
import { newLinkRecord } from '../links/new-link-record.js';
import { domainHost } from '../model/entity-types.js';
import type { ReadOptions } from '../model/read-options.js';
import type { DomainRecord } from '../model/record-schemas.js';
import { createResources, type ResourceDeps } from '../resources/resource.js';
import { createDomainChanges, type DomainStores } from './domain-changes.js';
import { DOMAIN_RULES, type NewDomain } from './domain-rules.js';
import { createPrimaryDomains } from './primary-domains.js';

/** Makes the record of a new domain, with a new id. Stores nothing. */
export function draftDomain(workspaceId: string, input: NewDomain, nowMs: number): DomainRecord {
  const time = new Date(nowMs).toISOString();
  const id = createResourceId('domain', nowMs);
  return { ...DOMAIN_RULES.complete(input), id, workspaceId, createdAt: time, updatedAt: time };
}

/** The domain object of every response. */
function domainObject(record: DomainRecord): Domain {
  return {
    id: record.id,
    slug: record.slug,
    verified: record.verified,
    primary: record.primary,
    archived: record.archived,
    placeholder: record.placeholder,
    expiredUrl: record.expiredUrl,
    notFoundUrl: record.notFoundUrl,
    logo: record.logo,
    assetLinks: record.assetLinks,
    appleAppSiteAssociation: record.appleAppSiteAssociation,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    registeredDomain: null,
  };
}

/** The operations on domains. */
export function createDomains(stores: DomainStores, deps: ResourceDeps, laggingRead: ReadOptions) {
  const { domains, links, hosts } = stores;
  const resources = createResources(domains, DOMAIN_RULES, deps, {
    /** The check of the host, and the root link of the domain, without destination. */
    companions: ({ workspaceId, slug }) => [
      hosts.creationStep(workspaceId, slug),
      links.prepare(newLinkRecord(workspaceId, { domain: slug, key: '_root', url: '' }, deps.now())),
    ],
  });

  return {
    ...createDomainChanges(stores, resources, deps),

    get: resources.get,
    list: resources.list,

    /**
     * Finds the domain of any workspace by its host name. For redirects: if the stores fail, returns an expired copy.
     *
     * @param slug lower case, without `www.`
     * @param options.limitMs time limit; by default the second that redirects have
     */
    findBySlug(slug: string, options: ReadOptions = laggingRead): Promise<DomainRecord | undefined> {
      return domains.findByName(domainHost(slug), options);
    },

    /** The result of {@link findBySlug} if it is cached in this process; undefined when a store would have to be queried. */
    freshBySlug: (slug: string): DomainRecord | undefined => domains.freshByName(domainHost(slug), laggingRead),

    /**
     * The domain of a workspace for new links whose request names none; undefined when the workspace has no domain that is not archived.
     */
    primary: createPrimaryDomains(domains, deps.now),

    toDomain: domainObject,
  };
}
