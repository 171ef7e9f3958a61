import { CUSTOMER_CLAIM_MS, type EventProducer, SALE_CLAIM_MS } from '@waymark/event-queue';
import { clickSource } from '../click-producer.js';
import { type ClientTrackers, createClientTrackers } from './browser/client-trackers.js';
import { createKeyedMutex } from './browser/keyed-mutex.js';
import { createBacklog } from './conversions/backlog.js';
import { createClickAliases } from './conversions/click-aliases.js';
import { createClickFinder } from './conversions/click-finder.js';
import { createTrackedCustomers } from './conversions/customers.js';
import { createLatestLeads } from './conversions/latest-leads.js';
import { createLeadTracker, type LeadTracker } from './conversions/lead-tracker.js';
import { createSaleStore } from './conversions/sale-store.js';
import { createSaleTracker, type SaleTracker } from './conversions/sale-tracker.js';
import { createStoredKeys } from './conversions/stored-keys.js';
import type { TrackDeps } from './track-deps.js';

interface ShardTrackers {
  readonly leads: LeadTracker;
  readonly sales: SaleTracker;
  readonly clientTrackers: ClientTrackers;
}

/** The trackers of leads and sales of this process, with their caches. Both ports use the same. */
export interface ConversionTrackers {
  /** Those of the queue shard of a workspace. */
  of(workspaceId: string): Promise<ShardTrackers>;
}

/** Creates the trackers for the workspaces of one queue shard. */
function createShardTrackers(trackDeps: TrackDeps, producer: EventProducer): ShardTrackers {
  const deps = { ...trackDeps, producer };
  const { catalog, clickhouse, cluster, freshClicks, logger, now } = deps;
  const aliases = createClickAliases({ clickhouse, cluster, workspaces: catalog.workspaces });
  const clicks = createClickFinder({
    clickhouse,
    cluster,
    freshClicks,
    aliases,
    now,
    producer: clickSource(deps, producer),
    erased: catalog.erasures.people,
  });
  const backlog = createBacklog(producer, now);
  const externalIds = createStoredKeys({
    kind: 'customer',
    claimMs: CUSTOMER_CLAIM_MS,
    producer,
    logger,
    now,
    read: catalog.customers.externalIdDigests,
  });
  const customers = createTrackedCustomers({ catalog, producer, backlog, storedKeys: externalIds, now });
  const latestLeads = createLatestLeads({ clickhouse, producer, clicks, backlog });
  const saleStore = createSaleStore(clickhouse);
  const storedSales = createStoredKeys({
    kind: 'sale',
    claimMs: SALE_CLAIM_MS,
    producer,
    logger,
    now,
    read: saleStore.keyDigests,
  });
  const trackers = {
    leads: createLeadTracker({ deps, customers, clicks, latestLeads }),
    sales: createSaleTracker({ deps, customers, clicks, latestLeads, saleStore, storedSales, backlog }),
  };
  const mutex = createKeyedMutex();
  return { ...trackers, clientTrackers: createClientTrackers({ deps, clicks, backlog, mutex, ...trackers }) };
}

/** Creates the trackers, for each queue shard its own. */
export function createConversionTrackers(deps: TrackDeps): ConversionTrackers {
  const perShard = deps.producers.map((producer) => createShardTrackers(deps, producer));
  return { of: (workspaceId) => deps.catalog.queueShards.pick(perShard, workspaceId) };
}
