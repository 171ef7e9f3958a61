import { createResourceId, type Domain } from '@waymark/contract';
import { LRUCache } from 'lru-cache';
import { createDomainChanges } from './domain-changes.js';
import { domainHost } from './kinds.js';
import { draftLink } from './link-draft.js';
import type { ReadOptions } from './record-reader.js';
import type { RecordStore } from './record-store.js';
import type { DomainRecord, LinkRecord } from './records.js';
import { DOMAIN_RULES, type NewDomain } from './resource-rules.js';
import { createResources, type ResourceParts } from './resources.js';

const PRIMARIES_KEPT = 10_000;
const PRIMARY_TTL_MS = 1_000;

export type { NewDomain };

/** A domain that is not stored yet. */
export function draftDomain(workspaceId: string, input: NewDomain, nowMs: number): DomainRecord {
  const time = new Date(nowMs).toISOString();
  const id = createResourceId('domain', nowMs);
  return { ...DOMAIN_RULES.complete(input), id, workspaceId, createdAt: time, updatedAt: time };
}

/** The domain object of every response (spec 5.1). */
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

export function createDomains(
  stores: { readonly domains: RecordStore<DomainRecord>; readonly links: RecordStore<LinkRecord> },
  parts: ResourceParts,
  hotRead: ReadOptions,
) {
  const { domains, links } = stores;
  const resources = createResources(domains, DOMAIN_RULES, parts, {
    /** Its root link, without destination. */
    companions: ({ workspaceId, slug }) => [
      links.prepare(draftLink(workspaceId, { domain: slug, key: '_root', url: '' }, parts.now())),
    ],
  });

  // Every create without a domain asks for it. Having none is not remembered.
  const primaries = new LRUCache<string, DomainRecord>({
    max: PRIMARIES_KEPT,
    ttl: PRIMARY_TTL_MS,
    fetchMethod: async (workspaceId) => {
      const found = await domains.table.select(workspaceId, 'ORDER BY id', {});
      return found.find(({ record }) => record.primary)?.record;
    },
  });

  return {
    ...createDomainChanges(stores, resources, parts),

    get: resources.get,
    list: resources.list,

    /**
     * Redirect path: a stale copy rather than an error.
     *
     * @param slug lower case, without `www.`
     * @param options.limitMs a second unless the caller has more time than a redirect
     */
    findBySlug(slug: string, options: ReadOptions = hotRead): Promise<DomainRecord | undefined> {
      return domains.findByName(domainHost(slug), options);
    },

    /** The domain that links get when they name none; up to a second old. */
    primary: (workspaceId: string): Promise<DomainRecord | undefined> => primaries.fetch(workspaceId),

    toDomain: domainObject,
  };
}
