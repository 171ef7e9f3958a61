import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { EXTERNAL_ID_PREFIX, HIDDEN_PASSWORD, type Link } from '@waymark/contract';
import type { ReadList } from '../clickhouse/list-reads.js';
import { linkAddress, linkExternalId, partnerTenantId } from '../model/entity-types.js';
import type { CatalogLogger } from '../model/errors.js';
import { otherKeyForms } from '../model/link-key.js';
import type { ReadOptions } from '../model/read-options.js';
import type { LinkRecord, PartnerRecord, TagRecord } from '../model/record-schemas.js';
import { hashToken } from '../model/tokens.js';
import { createPartnerState } from '../partners/partner-state.js';
import type { Locks } from '../redis/locks.js';
import type { SecretBox } from '../secrets/secret-box.js';
import type { RecordStore } from '../store/record-store.js';
import { underLock } from '../store/write-context.js';
import type { Counters, LinkCounters } from '../totals/counters.js';
import type { LinkVisibility } from './caller-visibility.js';
import { createLinkChanges } from './link-changes.js';
import { createLinkCreation } from './link-creation.js';
import { createLinkList } from './link-list.js';
import { linkObject } from './link-object.js';
import { mostVisitedLinks } from './most-visited.js';

const COUNTS_AT_ONCE = 4;

/** Statuses of partners who have, or had, links. Applicants and invited partners have none. */
const ENROLLED: ReadonlySet<PartnerRecord['status']> = new Set(['approved', 'deactivated', 'banned', 'archived']);

/** Dependencies of {@link createLinks}. */
export interface LinksDeps {
  readonly store: RecordStore<LinkRecord>;
  readonly tags: Pick<RecordStore<TagRecord>, 'getMany'>;
  readonly partners: Pick<RecordStore<PartnerRecord>, 'findByName' | 'get' | 'getMany'>;
  readonly clickhouse: ClickHouseClient;
  readonly readList: ReadList;
  /** Settings of every read. */
  readonly settings: Readonly<Record<string, number>>;
  readonly locks: Locks;
  /** Options of reads whose answers may lag, such as those for visits. */
  readonly laggingRead: ReadOptions;
  readonly counters: Counters;
  readonly secrets: SecretBox;
  readonly baseUrl: string;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

/** The time from `sinceMs` (epoch milliseconds) until now, in a workspace. */
interface Period {
  readonly workspaceId: string;
  readonly sinceMs: number;
}

/** The operations on links. */
export function createLinks(deps: LinksDeps) {
  const { store, laggingRead, counters, secrets, baseUrl, now } = deps;
  const partnerState = createPartnerState(deps.partners);

  function passwordOf(record: Pick<LinkRecord, 'id' | 'encryptedPassword'>): string | null {
    return record.encryptedPassword === null ? null : secrets.open(record.encryptedPassword, record.id);
  }

  /** The password of a link as a response shows it. */
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

  /** Reads the tags of all given links at once. @returns a function from one of these links to its tags, in the order of its `tagIds` */
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

  /**
   * Finds a link under all forms of a key at once. Each form is a name of its link, but not of links that were created by a version before
   * that, and full stops of other scripts are in no name. A form that cannot be looked up hides no link that another one finds.
   */
  async function findByForms(domain: string, key: string, options: ReadOptions): Promise<LinkRecord | undefined> {
    const first = linkAddress(domain, key);
    const fresh = store.freshByName(first, options);
    if (fresh !== undefined) return fresh;
    const names = [first, ...otherKeyForms(key).map((form) => linkAddress(domain, form))];
    const answers = await Promise.allSettled(names.map((name) => store.findByName(name, options)));
    const [found] = answers.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (found === undefined && failed !== undefined) throw failed.reason;
    return found;
  }

  const periodKey = ({ workspaceId, sinceMs }: Period) => `${workspaceId}/${sinceMs}`;
  // Concurrent creations share one count.
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
     * Finds a link by its address, for redirects: in the cache of this process, Redis, then ClickHouse. If the stores fail, returns an
     * expired copy. The state of the partner is applied to the link, unless the partner cannot be read.
     *
     * @param domain lower case, without `www.`
     * @param key the result of `normaliseKey`
     * @param options.limitMs time limit; by default the second that redirects have
     */
    async findByAddress(
      domain: string,
      key: string,
      options: ReadOptions = laggingRead,
    ): Promise<LinkRecord | undefined> {
      const link = await findByForms(domain, key, options);
      if (link === undefined || link.partnerId === null) return link;
      // The reader has logged the error; the redirect continues without the state of the partner.
      return partnerState.of(link, options).catch(() => link);
    },

    /** The result of {@link findByAddress} if it is cached in this process and has no partner; undefined otherwise. */
    freshByAddress(domain: string, key: string): LinkRecord | undefined {
      const link = store.freshByName(linkAddress(domain, key), laggingRead);
      return link?.partnerId === null ? link : undefined;
    },

    /** See {@link mostVisitedLinks}. */
    mostVisited: (options: Parameters<typeof mostVisitedLinks>[1]) => mostVisitedLinks(deps.clickhouse, options),

    /** @param externalId without the prefix `ext_` that selectors have */
    findByExternalId,

    /** Finds a link by `link_…` id or `ext_…` external id. */
    find(workspaceId: string, reference: string): Promise<LinkRecord | undefined> {
      return reference.startsWith(EXTERNAL_ID_PREFIX)
        ? findByExternalId(workspaceId, reference.slice(EXTERNAL_ID_PREFIX.length))
        : store.get(workspaceId, reference);
    },

    /** Finds links by `link_…` ids or `ext_…` external ids. @returns those that exist, each once, in the order of `references` */
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

    /** Finds a link by id, with the state of its partner applied. */
    async get(workspaceId: string, id: string, options?: ReadOptions): Promise<LinkRecord | undefined> {
      return partnerState.of(await store.get(workspaceId, id, options), options);
    },

    /** Links by id as they are stored. Apply `inPartnerState` before they are shown. */
    getMany: store.getMany,

    /** Applies the state of their partners to links of one workspace; keeps their order. */
    inPartnerState: partnerState.ofMany,

    /**
     * The partner with the tenantId who is, or was, enrolled: also a banned or deactivated one, because the state of such a partner applies
     * to new links too.
     */
    async partnerOfTenant(workspaceId: string, tenantId: string): Promise<PartnerRecord | undefined> {
      const partner = await deps.partners.findByName(partnerTenantId(workspaceId, tenantId));
      return partner !== undefined && ENROLLED.has(partner.status) ? partner : undefined;
    },

    /** The number of links that were created since `sinceMs`, including removed ones, without root links. Plans limit this number. */
    async createdSince(workspaceId: string, sinceMs: number): Promise<number> {
      return (await countSince({ workspaceId, sinceMs })) ?? 0;
    },

    /**
     * Runs `work` under a lock on each name, such as a destination. Of two requests that create a link only if there is none, the second
     * then finds the link of the first.
     */
    async underLinkLocks<T>(workspaceId: string, names: readonly string[], work: () => Promise<T>): Promise<T> {
      const lock = await deps.locks.take(names.map((name) => `link-url/${workspaceId}/${hashToken(name)}`));
      return underLock(lock, work);
    },

    /** The current counters of each link that has events. */
    counters: counters.links,

    /** Like `counters`, but from caches, so that the latest events may be missing. */
    cachedCounters: counters.cached.links,

    /** The decrypted password of a link; null = none. @throws Error when no instance key can decrypt it */
    passwordOf,

    /**
     * Whether `password` is the password of the link; null stands for a link without one. False when no instance key can decrypt the stored
     * password.
     */
    isPassword(record: Pick<LinkRecord, 'id' | 'encryptedPassword'>, password: string | null): boolean {
      const { id, encryptedPassword } = record;
      if (encryptedPassword !== null && secrets.sealerOf(encryptedPassword, id) === 'unknown') return false;
      return passwordOf(record) === password;
    },

    /** Encrypts a password, for the field `encryptedPassword` of a record. */
    sealPassword: (password: string, linkId: string): string => secrets.seal(password, linkId),

    /** The link object of a response, from data that has been read already. */
    toLink,

    /**
     * Reads the link objects of a response, with current counters and tags, and with the state of their partners applied.
     *
     * @param records links that the caller may see
     * @param areNew the links were just created, so their counters are 0 and need not be read
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
