import { createResourceId, type Domain } from '@waymark/contract';
import { LRUCache } from 'lru-cache';
import { domainHost } from './kinds.js';
import { draftLink } from './links.js';
import { createRecords } from './record-creation.js';
import type { ReadOptions } from './record-reader.js';
import type { RecordStore } from './record-store.js';
import type { DomainRecord, LinkRecord } from './records.js';
import { storableText } from './storable-text.js';
import type { WriteParts } from './write-parts.js';

const PRIMARIES_KEPT = 10_000;
const PRIMARY_TTL_MS = 1_000;

export type NewDomain = Partial<Omit<DomainRecord, 'id' | 'workspaceId' | 'createdAt' | 'updatedAt'>> & {
  /** Lower case. */
  readonly slug: string;
};

export interface DomainListOptions {
  /** Archived ones as well. */
  readonly archived: boolean;
  /** Part of the slug. */
  readonly search?: string;
  readonly page: number;
  readonly pageSize: number;
}

/** A domain that is not stored yet. Self-hosted domains count as verified (spec 5.1). */
export function draftDomain(workspaceId: string, input: NewDomain, nowMs: number): DomainRecord {
  const time = new Date(nowMs).toISOString();
  return {
    verified: true,
    primary: false,
    archived: false,
    placeholder: null,
    expiredUrl: null,
    notFoundUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
    ...input,
    id: createResourceId('domain', nowMs),
    workspaceId,
    createdAt: time,
    updatedAt: time,
  };
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

const LIST = `AND (archived = 0 OR {archived:Bool})
AND ({search:String} = '' OR positionCaseInsensitiveUTF8(slug, {search:String}) > 0)
ORDER BY id LIMIT {limit:UInt32} OFFSET {offset:UInt64}`;

export function createDomains(
  stores: { readonly domains: RecordStore<DomainRecord>; readonly links: RecordStore<LinkRecord> },
  parts: WriteParts,
  hotRead: ReadOptions,
) {
  const { domains } = stores;
  const select = async (workspaceId: string, tail: string, parameters: Parameters<typeof domains.table.select>[2]) =>
    (await domains.table.select(workspaceId, tail, parameters)).map(({ record }) => record);

  // Every create without a domain asks for it. Having none is not remembered.
  const primaries = new LRUCache<string, DomainRecord>({
    max: PRIMARIES_KEPT,
    ttl: PRIMARY_TTL_MS,
    fetchMethod: async (workspaceId) => (await select(workspaceId, 'ORDER BY id', {})).find((record) => record.primary),
  });

  return {
    /**
     * Redirect path: a stale copy rather than an error.
     *
     * @param slug lower case, without `www.`
     * @param options.limitMs a second unless the caller has more time than a redirect
     */
    findBySlug(slug: string, options: ReadOptions = hotRead): Promise<DomainRecord | undefined> {
      return domains.findByName(domainHost(slug), options);
    },

    /** Oldest first. */
    list(workspaceId: string, options: DomainListOptions): Promise<DomainRecord[]> {
      const { archived, search = '', page, pageSize } = options;
      if (search.includes('\0')) return Promise.resolve([]);
      const offset = (page - 1) * pageSize;
      return select(workspaceId, LIST, { archived, search: storableText(search), limit: pageSize, offset });
    },

    /** The domain that links get when they name none; up to a second old. */
    primary: (workspaceId: string): Promise<DomainRecord | undefined> => primaries.fetch(workspaceId),

    /**
     * A domain and its root link without destination. The workspace's first domain becomes primary.
     *
     * @throws ApiError conflict when the domain is in use, by any workspace
     */
    async create(workspaceId: string, input: NewDomain): Promise<DomainRecord> {
      const nowMs = parts.now();
      const isFirst = (await domains.table.select(workspaceId, 'LIMIT 1', {})).length === 0;
      const record = draftDomain(workspaceId, { primary: isFirst, ...input }, nowMs);
      const root = draftLink(workspaceId, { domain: record.slug, key: '_root', url: '' }, nowMs);
      await createRecords(parts, [stores.links.prepare(root), domains.prepare(record)]);
      return record;
    },

    toDomain: domainObject,
  };
}
