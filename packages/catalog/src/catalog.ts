import type { ClickHouseClient } from '@waymark/clickhouse';
import type { EventTableKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { createCustomers } from './customers/customers.js';
import { createDomains } from './domains/domains.js';
import { createLinkTests } from './links/ab-tests.js';
import { createLinkChanges } from './links/link-changes.js';
import { folderDetacher, tagDetacher, webhookLinks } from './links/link-detach.js';
import { createHiddenFolders } from './links/link-visibility.js';
import { createLinks } from './links/links.js';
import { NAMES_TABLE } from './model/entity-type.js';
import {
  apiKeyKind,
  customerKind,
  domainHost,
  domainKind,
  folderKind,
  groupKind,
  isRootLink,
  linkKind,
  partnerKind,
  partnerTagKind,
  programKind,
  tagKind,
  utmTemplateKind,
  webhookKind,
  workspaceKind,
} from './model/entity-types.js';
import type { CatalogLogger } from './model/errors.js';
import type { DomainRecord } from './model/record-schemas.js';
import { createSecretBox } from './model/secret-box.js';
import { createPartners } from './partners/partners.js';
import { createPendingCustomers } from './pending/pending-customers.js';
import { type CatalogSubscriber, createCatalogFeed } from './redis/catalog-changes.js';
import { connectRedis } from './redis/connections.js';
import { createLocks } from './redis/locks.js';
import { createQuotas } from './redis/quotas.js';
import { createRedisCache } from './redis/record-cache.js';
import {
  FOLDER_RULES,
  GROUP_RULES,
  PARTNER_TAG_RULES,
  PROGRAM_RULES,
  TAG_RULES,
  UTM_TEMPLATE_RULES,
} from './resources/named-resources.js';
import { createResources, type ResourceParts } from './resources/resource.js';
import { createLocalNames } from './store/local-cache.js';
import type { ReadOptions } from './store/record-reader.js';
import {
  createRecordStore,
  createTableCommit,
  REPLICATED,
  SINGLE_NODE,
  type StoreParts,
} from './store/record-store.js';
import { createNamesTable } from './store/unique-names.js';
import { affectedTotalsOf } from './totals/affected-totals.js';
import { createCounters } from './totals/counters.js';
import { createActiveWebhooks } from './webhooks/active-webhooks.js';
import { createWebhooks } from './webhooks/webhooks.js';
import { createKeys } from './workspaces/api-keys.js';
import { createEventUsage } from './workspaces/event-usage.js';
import { createWorkspaces } from './workspaces/workspaces.js';

export interface CatalogOptions {
  /** Says where Redis is: the catalog opens connections of its own, with limits of their own. */
  readonly redis: Redis;
  readonly clickhouse: ClickHouseClient;
  /** 32 bytes; encrypts link passwords. */
  readonly instanceKey: Buffer;
  readonly now: () => number;
  readonly logger: CatalogLogger;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  /** How long a redirect may wait for a link or domain that no cache holds; a second by default. */
  readonly redirectWaitMs?: number;
  /** Tables are replicated: reads must see every acknowledged write. */
  readonly isReplicated?: boolean;
}

const REDIRECT_WAIT_MS = 1_000;
const LINKS_KEPT = 50_000;
/** A visit of a partner's link needs the partner. */
const PARTNERS_KEPT = 50_000;
const OTHERS_KEPT = 10_000;
const NAMES_KEPT = 100_000;

/** Workspaces and all they have but events: rows in ClickHouse, cached and locked through Redis. */
export function createCatalog(options: CatalogOptions) {
  const { clickhouse, now } = options;
  let isClosed = false;
  const logger: CatalogLogger = {
    warn(context, message) {
      // Errors that closing causes, such as an interrupted subscription, are ignored.
      if (!isClosed) options.logger.warn(context, message);
    },
  };
  const hotRead: ReadOptions = { limitMs: options.redirectWaitMs ?? REDIRECT_WAIT_MS, mayLag: true };
  const redis = connectRedis(options.redis, logger);
  const settings = options.isReplicated ? REPLICATED : SINGLE_NODE;
  const feed = createCatalogFeed(redis, logger);
  const { isSubscribed } = feed;
  const activeWebhooks = createActiveWebhooks({ clickhouse, read: settings.read, isSubscribed, now });
  const localNames = createLocalNames(NAMES_KEPT, now);
  const namesTable = createNamesTable(clickhouse, settings.read);
  const commitNames = createTableCommit(clickhouse, NAMES_TABLE.table, NAMES_TABLE.columns, settings, now);
  const counters = createCounters(clickhouse, { isSubscribed, now });
  feed.subscribe({
    onChange({ names }) {
      for (const name of names) localNames.delete(name);
    },
    onGap: localNames.expireAll,
  });
  const parts: StoreParts = {
    clickhouse,
    namesTable,
    settings,
    locks: createLocks(redis, now),
    commitNames,
    cache: createRedisCache(redis),
    localNames,
    publish: feed.publish,
    mayUseCopies: ({ mayLag }) => isSubscribed() || (mayLag === true && redis.isAway()),
    logger,
    now,
  };

  const workspaceStore = createRecordStore(workspaceKind, parts, { entriesMax: OTHERS_KEPT });
  const isOrphanDomain = async ({ workspaceId }: DomainRecord) =>
    (await workspaceStore.table.get(workspaceId, workspaceId)) === undefined;
  const apiKeyStore = createRecordStore(apiKeyKind, parts, { entriesMax: OTHERS_KEPT });
  const domainStore = createRecordStore(domainKind, parts, { entriesMax: OTHERS_KEPT, isOrphan: isOrphanDomain });
  const linkStore = createRecordStore(linkKind, parts, {
    entriesMax: LINKS_KEPT,
    async isOrphan(link) {
      if (!isRootLink(link)) return false;
      const domain = await domainStore.ownerInTables(domainHost(link.domain));
      return domain === undefined || isOrphanDomain(domain.record);
    },
  });
  const pendingCustomers = createPendingCustomers(redis, now);
  const customerStore = createRecordStore(customerKind, parts, { entriesMax: OTHERS_KEPT, pending: pendingCustomers });
  const tagStore = createRecordStore(tagKind, parts, { entriesMax: OTHERS_KEPT });
  const folderStore = createRecordStore(folderKind, parts, { entriesMax: OTHERS_KEPT });
  const groupStore = createRecordStore(groupKind, parts, { entriesMax: OTHERS_KEPT });
  const partnerTagStore = createRecordStore(partnerTagKind, parts, { entriesMax: OTHERS_KEPT });
  const partnerStore = createRecordStore(partnerKind, parts, { entriesMax: PARTNERS_KEPT });
  const programStore = createRecordStore(programKind, parts, { entriesMax: OTHERS_KEPT });
  const utmTemplateStore = createRecordStore(utmTemplateKind, parts, { entriesMax: OTHERS_KEPT });
  const webhookStore = createRecordStore(webhookKind, parts, { entriesMax: OTHERS_KEPT });
  const stores = [
    ...[workspaceStore, apiKeyStore, domainStore, linkStore, customerStore],
    ...[tagStore, folderStore, groupStore, partnerTagStore, partnerStore, programStore, utmTemplateStore, webhookStore],
  ];

  for (const subscriber of [...stores, activeWebhooks, counters]) feed.subscribe(subscriber);

  const secrets = createSecretBox(options.instanceKey);
  const quotas = createQuotas(redis, now);
  const resourceParts: ResourceParts = { ...parts, quotas };
  const workspaces = createWorkspaces(
    {
      workspaces: workspaceStore,
      apiKeys: apiKeyStore,
      domains: domainStore,
      links: linkStore,
      programs: programStore,
      groups: groupStore,
    },
    parts,
    hotRead,
  );
  return {
    workspaces,
    keys: createKeys(apiKeyStore, workspaces, now),
    domains: createDomains({ domains: domainStore, links: linkStore }, resourceParts, hotRead),
    quotas,
    links: createLinks({
      store: linkStore,
      tags: tagStore,
      partners: partnerStore,
      clickhouse,
      settings: settings.read,
      locks: parts.locks,
      hotRead,
      counters,
      secrets,
      baseUrl: options.baseUrl,
      now,
    }),
    customers: createCustomers(customerStore, { ...parts, quotas, counters, pending: pendingCustomers }),
    tags: createResources(tagStore, TAG_RULES, resourceParts, { detach: tagDetacher(linkStore) }),
    folders: createResources(folderStore, FOLDER_RULES, resourceParts, { detach: folderDetacher(linkStore) }),
    hiddenFolders: createHiddenFolders(folderStore),
    groups: createResources(groupStore, GROUP_RULES, resourceParts),
    partnerTags: createResources(partnerTagStore, PARTNER_TAG_RULES, resourceParts),
    partners: createPartners({ partners: partnerStore, links: linkStore }, { ...parts, quotas }),
    programs: createResources(programStore, PROGRAM_RULES, resourceParts),
    utmTemplates: createResources(utmTemplateStore, UTM_TEMPLATE_RULES, resourceParts),
    webhooks: createWebhooks(webhookStore, activeWebhooks, webhookLinks(linkStore), secrets, resourceParts),

    linkTests: createLinkTests({
      clickhouse,
      settings: settings.read,
      namesTable,
      store: linkStore,
      update: createLinkChanges(linkStore, now).update,
    }),
    eventUsage: createEventUsage(clickhouse, settings.read, now),

    /** Calls the subscriber for every change, of this process and of others, soon after it was written. */
    subscribe: (subscriber: CatalogSubscriber) => feed.subscribe(subscriber),

    /**
     * Publishes which totals an insert has changed. Failing costs freshness only, for ten seconds.
     *
     * @param rows JSON arrays in the order of the table's columns
     */
    async publishAffectedTotals(kind: EventTableKind, rows: readonly string[]): Promise<void> {
      try {
        for (const counted of affectedTotalsOf(kind, rows)) await feed.publishUnacknowledged({ counted });
      } catch (err) {
        logger.warn({ err }, 'new totals were not published');
      }
    },

    /** Whether changes of other processes are received: caches that only they clear may be used. */
    isSubscribed,

    /** How many records were looked up so far, by table and by what answered: this process, Redis or ClickHouse. */
    lookups: () => Object.fromEntries(stores.map(({ kind, lookups }) => [kind.table, { ...lookups }])),

    /** Ends the writes under way and closes the catalog's own connections; Redis and ClickHouse clients given stay open. */
    async close(): Promise<void> {
      await Promise.all([commitNames.close(), ...stores.map((store) => store.close())]);
      isClosed = true;
      await feed.close();
      await redis.close();
    },
  };
}
export type Catalog = ReturnType<typeof createCatalog>;
