import type { ClickHouseClient } from '@waymark/clickhouse';
import { NAMES_TABLE } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { createListReads } from './clickhouse/list-reads.js';
import { createCustomers } from './customers/customers.js';
import { createDomainHosts } from './domains/domain-hosts.js';
import { createDomains } from './domains/domains.js';
import { createErasures } from './erasures/erasures.js';
import { createSubjectHash } from './erasures/subject-hash.js';
import { createExportJobs } from './exports/export-jobs.js';
import { createExportSchedules } from './exports/export-schedules.js';
import { createImportJobs } from './imports/import-jobs.js';
import { createAbTests } from './links/ab-tests.js';
import { createHiddenFolders } from './links/caller-visibility.js';
import { createLinkChanges } from './links/link-changes.js';
import { folderDetacher, tagDetacher } from './links/link-detach.js';
import { createLinks } from './links/links.js';
import { webhookLinks } from './links/webhook-links.js';
import {
  apiKeyType,
  customerType,
  domainHost,
  domainType,
  erasureType,
  exportJobType,
  exportScheduleType,
  folderType,
  groupType,
  importJobType,
  isRootLink,
  linkAddress,
  linkType,
  partnerTagType,
  partnerType,
  programType,
  tagType,
  utmTemplateType,
  webhookType,
  workspaceType,
} from './model/entity-types.js';
import type { CatalogLogger } from './model/errors.js';
import { API_READ, type ReadOptions } from './model/read-options.js';
import type { DomainRecord } from './model/record-schemas.js';
import { createPartners } from './partners/partners.js';
import { createPendingCustomers } from './pending/pending-customers.js';
import { createCacheMemory } from './redis/cache-memory.js';
import { type CatalogSubscriber, createCatalogFeed } from './redis/catalog-changes.js';
import { openCommandConnections, openConnections } from './redis/connections.js';
import { createLocks } from './redis/locks.js';
import { createQuotas } from './redis/quotas.js';
import { createRedisCache } from './redis/record-cache.js';
import { createSharedTotals } from './redis/shared-totals.js';
import {
  FOLDER_RULES,
  GROUP_RULES,
  PARTNER_TAG_RULES,
  PROGRAM_RULES,
  TAG_RULES,
  UTM_TEMPLATE_RULES,
} from './resources/named-resources.js';
import { createResources, type ResourceDeps } from './resources/resource.js';
import { createSealedValues } from './secrets/sealed-values.js';
import { createSecretBox } from './secrets/secret-box.js';
import { createLocalNames, type RecordsBound } from './store/local-cache.js';
import { createRecordStore, createTableCommit, REPLICATED, SINGLE_NODE, type StoreDeps } from './store/record-store.js';
import { createNamesTable } from './store/unique-names.js';
import { affectedTotalsOf, type CountedInsert } from './totals/affected-totals.js';
import { createCounters } from './totals/counters.js';
import { createActiveWebhooks } from './webhooks/active-webhooks.js';
import { createWebhooks } from './webhooks/webhooks.js';
import { createKeys } from './workspaces/api-keys.js';
import { createEventUsage } from './workspaces/event-usage.js';
import { createQueueShards } from './workspaces/queue-shards.js';
import { createWorkspaces } from './workspaces/workspaces.js';

/** Options of {@link createCatalog}. */
export interface CatalogOptions {
  /**
   * The Redis to use. The catalog copies the settings of this connection, and opens connections of its own, with time limits of its own.
   */
  readonly redis: Redis;
  /** The Redis of the queue shards from 1 on; none by default. `redis` is shard 0. */
  readonly otherQueueShards?: readonly Redis[];
  /** How many replicas of Redis must have a write before it counts as done; 0 by default. */
  readonly waitReplicas?: number;
  readonly clickhouse: ClickHouseClient;
  /**
   * 32 bytes; encrypts link passwords, webhook secrets and credentials of scheduled exports and imports, and is the key of the hashes of
   * erased external ids.
   */
  readonly instanceKey: Buffer;
  /** Further keys, during a rotation: they only decrypt values that they have encrypted, and find hashes; none by default. */
  readonly otherInstanceKeys?: readonly Buffer[];
  readonly now: () => number;
  readonly logger: CatalogLogger;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  /** How long a redirect may wait for ClickHouse when no cache contains its link or domain; a second by default. */
  readonly redirectWaitMs?: number;
  /**
   * Upper bound for the number of cached records of each type, and of cached names. The limits of a service, which are the default, apply
   * if they are lower. Their characters are limited in proportion.
   */
  readonly cachedMax?: number;
  /** Whether tables are replicated, so that reads need settings to see every acknowledged write; false by default. */
  readonly isReplicated?: boolean;
}

const REDIRECT_WAIT_MS = 1_000;
/** The most records of a type that are cached in this process. */
const LINKS_KEPT: RecordsBound = { entriesMax: 50_000, charsEach: 2_000 };
/** As many as links, because a visit of a partner's link reads the partner. */
const PARTNERS_KEPT: RecordsBound = { entriesMax: 50_000, charsEach: 1_000 };
/** Domains may have logos and association files. */
const DOMAINS_KEPT: RecordsBound = { entriesMax: 10_000, charsEach: 5_000 };
const OTHERS_KEPT: RecordsBound = { entriesMax: 10_000, charsEach: 1_000 };
/** Maximum number of names that are cached in this process. */
const NAMES_KEPT = 100_000;

/**
 * Opens the catalog: all records of all workspaces, that is all data except events. Rows are in ClickHouse, caches and locks in Redis
 * (docs/architecture.md, "Records").
 */
export function createCatalog(options: CatalogOptions) {
  const { clickhouse, instanceKey, otherInstanceKeys = [], now, cachedMax = Number.POSITIVE_INFINITY } = options;
  const atMost = ({ entriesMax, charsEach }: RecordsBound) => ({
    cached: { entriesMax: Math.min(entriesMax, cachedMax), charsEach },
  });
  const others = atMost(OTHERS_KEPT);
  let isClosed = false;
  const logger: CatalogLogger = {
    warn(context, message) {
      // Errors that the closing itself causes, such as an interrupted subscription, are not logged.
      if (!isClosed) options.logger.warn(context, message);
    },
  };
  const laggingRead: ReadOptions = { limitMs: options.redirectWaitMs ?? REDIRECT_WAIT_MS, mayLag: true };
  const waitReplicas = options.waitReplicas ?? 0;
  const redis = openConnections(options.redis, waitReplicas, logger);
  const otherQueues = (options.otherQueueShards ?? []).map((shard) =>
    openCommandConnections(shard, waitReplicas, logger),
  );
  const settings = options.isReplicated ? REPLICATED : SINGLE_NODE;
  const feed = createCatalogFeed(redis, logger);
  const { isSubscribed } = feed;
  const activeWebhooks = createActiveWebhooks({ clickhouse, read: settings.read, isSubscribed, logger, now });
  const localNames = createLocalNames(Math.min(NAMES_KEPT, cachedMax), now);
  const namesTable = createNamesTable(clickhouse, settings.read);
  const commitNames = createTableCommit(clickhouse, NAMES_TABLE.table, NAMES_TABLE.columns, settings, now);
  const cacheMemory = createCacheMemory(redis);
  const publishRecounted = () => void feed.publishUnacknowledged({ isRecounted: true }).catch(() => undefined);
  const shared = options.isReplicated ? undefined : createSharedTotals(redis, cacheMemory, logger, publishRecounted);
  const counters = createCounters(clickhouse, { isSubscribed, shared, now });
  feed.subscribe({
    onChange({ names }) {
      for (const name of names) localNames.delete(name);
    },
    onGap: localNames.expireAll,
  });
  const readList = createListReads(clickhouse);
  const deps: StoreDeps = {
    clickhouse,
    readList,
    namesTable,
    settings,
    locks: createLocks(redis, now),
    commitNames,
    cache: createRedisCache(redis, cacheMemory),
    localNames,
    publish: feed.publish,
    mayUseCopies: ({ mayLag }) => isSubscribed() || (mayLag === true && !redis.isReadable()),
    logger,
    now,
  };

  const workspaceStore = createRecordStore(workspaceType, deps, others);
  const isOrphanDomain = async ({ workspaceId }: Pick<DomainRecord, 'workspaceId'>) =>
    (await workspaceStore.table.get(workspaceId, workspaceId)) === undefined;
  const apiKeyStore = createRecordStore(apiKeyType, deps, others);
  const domainStore = createRecordStore(domainType, deps, { ...atMost(DOMAINS_KEPT), isOrphan: isOrphanDomain });
  const domainHosts = createDomainHosts({ domains: domainStore, locks: deps.locks, isOrphan: isOrphanDomain });
  const linkStore = createRecordStore(linkType, deps, {
    ...atMost(LINKS_KEPT),
    // While a domain is renamed, a link on one of its hosts and one on the other cannot have the same key: they could not be moved.
    async reservedFor({ kind, scope: host, name: key }) {
      if (kind !== 'link') return [];
      const domain = await domainStore.findByName(domainHost(host), API_READ);
      if (domain === undefined || domain.movedFrom === null) return [];
      return [linkAddress(domain.slug === host ? domain.movedFrom : domain.slug, key)];
    },
    async isOrphan(link) {
      if (!isRootLink(link)) return false;
      const domain = await domainStore.findOwnerUncached(domainHost(link.domain));
      return domain === undefined || isOrphanDomain(domain.record);
    },
  });
  const queueShards = createQueueShards(workspaceStore, 1 + otherQueues.length, laggingRead);
  const queues = [redis, ...otherQueues];
  const pendingCustomers = createPendingCustomers(queues, queueShards, now);
  const customerStore = createRecordStore(customerType, deps, { ...others, pending: pendingCustomers });
  const tagStore = createRecordStore(tagType, deps, others);
  const folderStore = createRecordStore(folderType, deps, others);
  const groupStore = createRecordStore(groupType, deps, others);
  const partnerTagStore = createRecordStore(partnerTagType, deps, others);
  const partnerStore = createRecordStore(partnerType, deps, atMost(PARTNERS_KEPT));
  const programStore = createRecordStore(programType, deps, others);
  const utmTemplateStore = createRecordStore(utmTemplateType, deps, others);
  const webhookStore = createRecordStore(webhookType, deps, others);
  const exportJobStore = createRecordStore(exportJobType, deps, others);
  const exportScheduleStore = createRecordStore(exportScheduleType, deps, others);
  const importJobStore = createRecordStore(importJobType, deps, others);
  const erasureStore = createRecordStore(erasureType, deps, others);
  const stores = [
    ...[workspaceStore, apiKeyStore, domainStore, linkStore, customerStore],
    ...[tagStore, folderStore, groupStore, partnerTagStore, partnerStore, programStore, utmTemplateStore, webhookStore],
    ...[exportJobStore, exportScheduleStore, importJobStore, erasureStore],
  ];

  const secrets = createSecretBox(instanceKey, otherInstanceKeys);
  const quotas = createQuotas(redis, now);
  const resourceDeps: ResourceDeps = { ...deps, quotas };
  const subjects = createSubjectHash(instanceKey, otherInstanceKeys);
  const erasures = createErasures(erasureStore, { ...resourceDeps, clickhouse, settings, subjects, isSubscribed });

  for (const subscriber of [...stores, activeWebhooks, counters, erasures.people]) feed.subscribe(subscriber);

  const workspaces = createWorkspaces(
    {
      workspaces: workspaceStore,
      apiKeys: apiKeyStore,
      domains: domainStore,
      links: linkStore,
      programs: programStore,
      groups: groupStore,
    },
    { ...deps, domainHosts },
    laggingRead,
    queueShards.count,
  );
  return {
    workspaces,
    queueShards,
    keys: createKeys(apiKeyStore, workspaces, quotas, now),
    domains: createDomains({ domains: domainStore, links: linkStore, hosts: domainHosts }, resourceDeps, laggingRead),
    quotas,
    links: createLinks({
      store: linkStore,
      tags: tagStore,
      partners: partnerStore,
      clickhouse,
      readList,
      settings: settings.read,
      locks: deps.locks,
      laggingRead,
      counters,
      secrets,
      baseUrl: options.baseUrl,
      logger,
      now,
    }),
    customers: createCustomers(customerStore, { ...deps, quotas, counters, pending: pendingCustomers }),
    tags: createResources(tagStore, TAG_RULES, resourceDeps, { detach: tagDetacher(linkStore) }),
    folders: createResources(folderStore, FOLDER_RULES, resourceDeps, { detach: folderDetacher(linkStore) }),
    hiddenFolders: createHiddenFolders(folderStore),
    groups: createResources(groupStore, GROUP_RULES, resourceDeps),
    partnerTags: createResources(partnerTagStore, PARTNER_TAG_RULES, resourceDeps),
    partners: createPartners({ partners: partnerStore, links: linkStore }, { ...deps, quotas }),
    programs: createResources(programStore, PROGRAM_RULES, resourceDeps),
    utmTemplates: createResources(utmTemplateStore, UTM_TEMPLATE_RULES, resourceDeps),
    erasures,
    exportJobs: createExportJobs(exportJobStore, { ...resourceDeps, customersRemovedMs: erasures.customersRemovedMs }),
    exportSchedules: createExportSchedules(exportScheduleStore, secrets, resourceDeps),
    importJobs: createImportJobs(importJobStore, secrets, resourceDeps),
    webhooks: createWebhooks(webhookStore, activeWebhooks, webhookLinks(linkStore), secrets, resourceDeps),

    sealedValues: createSealedValues({
      clickhouse,
      settings: settings.read,
      secrets,
      links: linkStore,
      webhooks: webhookStore,
      exportSchedules: exportScheduleStore,
      workspaceIds: async () => (await workspaces.list()).map(({ id }) => id),
    }),
    abTests: createAbTests({
      redis,
      now,
      clickhouse,
      settings: settings.read,
      namesTable,
      store: linkStore,
      update: createLinkChanges(linkStore, now).update,
    }),
    eventUsage: createEventUsage(clickhouse, settings.read, now),

    /** Calls the subscriber after every later write of this or another process. */
    subscribe: (subscriber: CatalogSubscriber) => feed.subscribe(subscriber),

    /**
     * Marks the totals that an insert will change: for a minute, or until {@link evictTotals}, they are neither read from Redis nor stored
     * there. Await it before each attempt of the insert.
     */
    async markTotals({ kind, batchId, rows }: CountedInsert): Promise<void> {
      if (shared === undefined) return;
      for (const counted of affectedTotalsOf(kind, rows)) await shared.mark(batchId, counted);
    },

    /**
     * Evicts the totals that an insert has changed, in Redis and then in every process. Await it before the insert is acknowledged. If
     * Redis is away, totals that are cached in a process may be outdated for up to ten seconds.
     */
    async evictTotals({ kind, batchId, rows }: CountedInsert): Promise<void> {
      const affected = affectedTotalsOf(kind, rows);
      for (const counted of affected) await shared?.evict(batchId, counted);
      try {
        for (const counted of affected) await feed.publishUnacknowledged({ counted });
      } catch (err) {
        if (redis.isAway()) return;
        logger.warn(
          { err },
          'the eviction of changed totals was not published: other processes may answer outdated ones for up to ten seconds',
        );
      }
    },

    /**
     * Evicts all totals in Redis. Call it after changes other than inserts of events, and when a writer starts, because an earlier writer
     * may have been killed between an insert and its evictions.
     *
     * @throws ApiError 500 with `Retry-After` when Redis is away; the totals are evicted as soon as it answers
     */
    evictAllTotals: async () => shared?.evictAll(),

    /** Whether this process receives the changes of others. Caches that these changes evict may be used only then. */
    isSubscribed,

    /**
     * Number of look-ups of records, by table and by the place that answered: this process, Redis or ClickHouse. Look-ups that find no
     * record are counted too.
     */
    lookups: () => Object.fromEntries(stores.map(({ kind, lookups }) => [kind.table, { ...lookups }])),

    /** Waits for the inserts that have begun or wait for others, and closes the connections that the catalog has opened; the clients in the options stay open. */
    async close(): Promise<void> {
      await Promise.all([commitNames.close(), ...stores.map((store) => store.close())]);
      isClosed = true;
      shared?.close();
      await feed.close();
      for (const queue of queues) queue.close();
    },
  };
}
/** See {@link createCatalog}. */
export type Catalog = ReturnType<typeof createCatalog>;
