import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { EXTERNAL_ID_PREFIX, HIDDEN_PASSWORD, type Link } from '@waymark/contract';
import { linkAddress, linkExternalId, partnerTenantId } from '../model/entity-types.js';
import type { LinkRecord, PartnerRecord, TagRecord } from '../model/record-schemas.js';
import type { SecretBox } from '../model/secret-box.js';
import { hashToken } from '../model/tokens.js';
import { createPartnerState } from '../partners/partner-state.js';
import type { Locks } from '../redis/locks.js';
import type { ReadOptions } from '../store/record-reader.js';
import type { RecordStore } from '../store/record-store.js';
import type { Counters, LinkCounters } from '../totals/counters.js';
import { createLinkChanges } from './link-changes.js';
import { createLinkCreation } from './link-creation.js';
import { createLinkList } from './link-list.js';
import { linkObject } from './link-object.js';
import type { LinkVisibility } from './link-visibility.js';

const COUNTS_AT_ONCE = 4;

/** Partners who have, or had, links of their own; applications and invitations have not. */
const ENROLLED: ReadonlySet<PartnerRecord['status']> = new Set(['approved', 'deactivated', 'banned', 'archived']);

export interface LinksDeps {
  readonly store: RecordStore<LinkRecord>;
  readonly tags: Pick<RecordStore<TagRecord>, 'getMany'>;
  readonly partners: Pick<RecordStore<PartnerRecord>, 'findByName' | 'get' | 'getMany'>;
  readonly clickhouse: ClickHouseClient;
  /** Settings of every read. */
  readonly settings: Readonly<Record<string, number>>;
  readonly locks: Locks;
  readonly hotRead: ReadOptions;
  readonly counters: Counters;
  readonly secrets: SecretBox;
  readonly baseUrl: string;
  readonly now: () => number;
}

interface Period {
  readonly workspaceId: string;
  readonly sinceMs: number;
}

export function createLinks(deps: LinksDeps) {
  const { store, hotRead, counters, secrets, baseUrl, now } = deps;
  const partnerState = createPartnerState(deps.partners);

  function passwordOf(record: Pick<LinkRecord, 'id' | 'encryptedPassword'>): string | null {
    return record.encryptedPassword === null ? null : secrets.open(record.encryptedPassword, record.id);
  }

  function shownPassword(
    record: LinkRecord,
    { hidesPasswords }: Pick<LinkVisibility, 'hidesPasswords'>,
  ): string | null {
    return hidesPasswords && record.encryptedPassword !== null ? HIDDEN_PASSWORD : passwordOf(record);
  }

  function toLink(
    record: LinkRecord,
    visibility: Pick<LinkVisibility, 'hidesPasswords'>,
    linkCounters?: LinkCounters,
    tagRecords: readonly TagRecord[] = [],
  ): Link {
    const tags = tagRecords.map(({ id, name, color }) => ({ id, name, color }));
    return linkObject(record, { baseUrl, password: shownPassword(record, visibility), counters: linkCounters, tags });
  }

  /** Reads the tags of these links. @returns those of one of them, in its order */
  async function tagsOf(
    workspaceId: string,
    records: readonly LinkRecord[],
  ): Promise<(record: LinkRecord) => readonly TagRecord[]> {
    const tags = await deps.tags.getMany(workspaceId, [...new Set(records.flatMap(({ tagIds }) => tagIds))]);
    return ({ tagIds }) => tagIds.flatMap((id) => tags.get(id) ?? []);
  }

  function findByExternalId(workspaceId: string, externalId: string): Promise<LinkRecord | undefined> {
    return store.findByName(linkExternalId(workspaceId, externalId));
  }

  const periodKey = ({ workspaceId, sinceMs }: Period) => `${workspaceId}/${sinceMs}`;
  // A hundred creations at once ask for one count.
  const countSince = createDataLoader<Period, number>({
    identify: periodKey,
    group: periodKey,
    async load([period]) {
      if (period === undefined) return new Map();
      const fromNumber = BigInt(period.sinceMs) << 22n;
      const count = await store.table.countEver(period.workspaceId, fromNumber, "AND key != '_root'");
      return new Map([[periodKey(period), count]]);
    },
    batchSizeMax: 1,
    concurrentReadsMax: COUNTS_AT_ONCE,
  });

  return {
    ...createLinkCreation(deps),
    ...createLinkChanges(store, now),
    ...createLinkList(deps),

    /**
     * Redirect path: this process, Redis, ClickHouse; a stale copy rather than an error. As its partner's state has it, unless
     * the partner cannot be read.
     *
     * @param domain lower case, without `www.`
     * @param key as `normaliseKey` gives it
     * @param options.limitMs a second unless the caller has more time than a redirect
     */
    async findByAddress(domain: string, key: string, options: ReadOptions = hotRead): Promise<LinkRecord | undefined> {
      const link = await store.findByName(linkAddress(domain, key), options);
      if (link === undefined || link.partnerId === null) return link;
      // The reader has logged why; a redirect does not fail for it.
      return partnerState.of(link, options).catch(() => link);
    },

    /** What {@link findByAddress} finds without a look at a store or a partner; undefined when it needs one. */
    freshByAddress(domain: string, key: string): LinkRecord | undefined {
      const link = store.freshByName(linkAddress(domain, key), hotRead);
      return link?.partnerId === null ? link : undefined;
    },

    /** @param externalId as bodies give it, without the `ext_` of a selector */
    findByExternalId,

    /** By `link_…` id or `ext_…` external id. */
    find(workspaceId: string, reference: string): Promise<LinkRecord | undefined> {
      return reference.startsWith(EXTERNAL_ID_PREFIX)
        ? findByExternalId(workspaceId, reference.slice(EXTERNAL_ID_PREFIX.length))
        : store.get(workspaceId, reference);
    },

    /** Those that exist of links named by `link_…` ids or `ext_…` external ids, each once, in the order given. */
    async findMany(workspaceId: string, references: readonly string[]): Promise<LinkRecord[]> {
      const external = references.filter((reference) => reference.startsWith(EXTERNAL_ID_PREFIX));
      const [byId, named] = await Promise.all([
        store.getMany(workspaceId, references),
        Promise.all(
          external.map((reference) => findByExternalId(workspaceId, reference.slice(EXTERNAL_ID_PREFIX.length))),
        ),
      ]);
      const byReference = new Map(external.map((reference, index) => [reference, named[index]]));
      const found = references.map((reference) => byId.get(reference) ?? byReference.get(reference));
      return [...new Map(found.flatMap((link) => (link === undefined ? [] : [[link.id, link] as const]))).values()];
    },

    /** As its partner's state has it. */
    async get(workspaceId: string, id: string, options?: ReadOptions): Promise<LinkRecord | undefined> {
      return partnerState.of(await store.get(workspaceId, id, options), options);
    },

    /** As they are stored: what is to be shown of them goes through `inPartnerState`. */
    getMany: store.getMany,

    /** Links of one workspace as the states of their partners have them, in the order given. */
    inPartnerState: partnerState.ofMany,

    /** The partner that is, or was, enrolled in the workspace's program for a tenant: links of one who is out are out with them. */
    async partnerOfTenant(workspaceId: string, tenantId: string): Promise<PartnerRecord | undefined> {
      const partner = await deps.partners.findByName(partnerTenantId(workspaceId, tenantId));
      return partner !== undefined && ENROLLED.has(partner.status) ? partner : undefined;
    },

    /** Links made since then, root links apart, removed ones included: what counts against the plan. */
    async createdSince(workspaceId: string, sinceMs: number): Promise<number> {
      return (await countSince({ workspaceId, sinceMs })) ?? 0;
    },

    /** Runs `work` while nobody else does for any of the destinations: two who look for one and find none would both create it. */
    async whileUrlsHeld<T>(workspaceId: string, urls: readonly string[], work: () => Promise<T>): Promise<T> {
      const lock = await deps.locks.take(urls.map((url) => `link-url/${workspaceId}/${hashToken(url)}`));
      try {
        return await work();
      } finally {
        await lock.release();
      }
    },

    /** The counters of each link that has events. */
    counters: counters.links,

    /** The same, without those of the last moment. */
    cachedCounters: counters.cached.links,

    passwordOf,

    /** What is stored of a password. */
    sealPassword: (password: string, linkId: string): string => secrets.seal(password, linkId),

    toLink,

    /**
     * The link objects of every response, with the counters of the moment and their tags, as the states of their partners have
     * them.
     *
     * @param records links that the caller may see
     * @param areNew links that were just created have no counters to look for
     */
    async objects(
      workspaceId: string,
      records: readonly LinkRecord[],
      visibility: Pick<LinkVisibility, 'hidesPasswords'>,
      areNew = false,
    ): Promise<Link[]> {
      if (records.length === 0) return [];
      const ids = records.map(({ id }) => id);
      const [totals, tagsOfLink, shown] = await Promise.all([
        areNew ? new Map<string, LinkCounters>() : counters.links(workspaceId, ids),
        tagsOf(workspaceId, records),
        partnerState.ofMany(workspaceId, records),
      ]);
      return shown.map((record) => toLink(record, visibility, totals.get(record.id), tagsOfLink(record)));
    },

    tagsOf,
  };
}
