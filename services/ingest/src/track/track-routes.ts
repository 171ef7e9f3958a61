import { type KeyCaller, linkVisibility } from '@waymark/catalog';
import {
  ApiError,
  type TrackLeadBody,
  type TrackSaleBody,
  trackLeadBodySchema,
  trackLeadResponseSchema,
  trackSaleBodySchema,
  trackSaleResponseSchema,
} from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, type EventProducer, SALE_CLAIM_MS } from '@waymark/event-queue';
import type { App } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { clickSource } from '../click-producer.js';
import { browserRoutes } from './browser/browser-routes.js';
import { clientRoutes } from './browser/client-routes.js';
import { type ClientTrackers, createClientTrackers } from './browser/client-trackers.js';
import { scriptRoutes } from './browser/script-routes.js';
import { createBacklog } from './conversions/backlog.js';
import { createClickAliases } from './conversions/click-aliases.js';
import { createClickFinder } from './conversions/click-finder.js';
import { createTrackedCustomers } from './conversions/customers.js';
import { createLatestLeads } from './conversions/latest-leads.js';
import { createLeadTracker, type LeadTracker } from './conversions/lead-tracker.js';
import { createSaleStore } from './conversions/sale-store.js';
import { createSaleTracker, echoSale, type SaleTracker } from './conversions/sale-tracker.js';
import { createStoredKeys } from './conversions/stored-keys.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

const SHED_RETRY_AFTER_SECONDS = 5;

interface Conversions {
  readonly leads: LeadTracker;
  readonly sales: SaleTracker;
  readonly clientTrackers: ClientTrackers;
}

/** A hook that rejects conversions while the Redis of their queue is short of memory, before any command is sent to it. */
function shedLoad({ producers, catalog }: TrackDeps) {
  return async ({ workspace }: Pick<FastifyRequest, 'workspace'>): Promise<void> => {
    if ((await catalog.queueShards.pick(producers, workspace.id)).load() === 'normal') return;
    throw new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
      retryAfterSeconds: SHED_RETRY_AFTER_SECONDS,
    });
  };
}

/** Creates the trackers of leads and sales for the workspaces of one queue shard. */
function createConversions(trackDeps: TrackDeps, producer: EventProducer): Conversions {
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
  const { clientMutex: mutex } = deps;
  return { ...trackers, clientTrackers: createClientTrackers({ deps, clicks, backlog, mutex, ...trackers }) };
}

/** Whether the caller may see the link: owners see all links, others only those outside hidden folders. */
async function canSeeLink(
  { catalog }: TrackDeps,
  { workspace, apiKey }: KeyCaller,
  linkId: string | null,
): Promise<boolean> {
  const visibility = linkVisibility(apiKey);
  if (!visibility.hidesFolders) return true;
  const link = linkId === null ? undefined : await catalog.links.get(workspace.id, linkId);
  return link !== undefined && (await catalog.hiddenFolders.visible(workspace.id, visibility, [link])).length > 0;
}

/** The trackers of a workspace, and the hook that sheds load before they are called. */
function createAllConversions(deps: TrackDeps) {
  const perShard = deps.producers.map((producer) => createConversions(deps, producer));
  return {
    of: (workspaceId: string) => deps.catalog.queueShards.pick(perShard, workspaceId),
    shed: shedLoad(deps),
  };
}

/** Registers the routes that pages post events to, on both ports; the app must have `authPlugin`. */
export async function pageRoutes(app: App, deps: TrackDeps, conversions = createAllConversions(deps)): Promise<void> {
  await browserRoutes(app, deps);
  const clientTrackersOf = async (workspaceId: string) => (await conversions.of(workspaceId)).clientTrackers;
  await clientRoutes(app, deps, clientTrackersOf, conversions.shed);
}

/** Registers all `/track` routes and the browser script; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackDeps): Promise<void> {
  const conversions = createAllConversions(deps);
  const hooks = { onRequest: app.authenticate(REQUIREMENTS), preHandler: conversions.shed };
  await scriptRoutes(app);
  await pageRoutes(app, deps, conversions);

  app.post(
    '/track/lead',
    {
      ...hooks,
      schema: {
        summary: 'Track a lead',
        tags: ['Track'],
        body: trackLeadBodySchema,
        response: { 200: trackLeadResponseSchema },
      },
    },
    async (request) => {
      const { leads } = await conversions.of(request.workspace.id);
      const response = await leads.track(request.workspace.id, storableBody<TrackLeadBody>(request.body));
      if (response.link === null || (await canSeeLink(deps, request, response.link.id))) return response;
      return { ...response, link: null };
    },
  );

  app.post(
    '/track/sale',
    {
      ...hooks,
      schema: {
        summary: 'Track a sale',
        tags: ['Track'],
        body: trackSaleBodySchema,
        response: { 200: trackSaleResponseSchema },
      },
    },
    async (request) => {
      const body = storableBody<TrackSaleBody>(request.body);
      const { sales } = await conversions.of(request.workspace.id);
      const { response, storedLinkId } = await sales.track(request.workspace.id, body);
      return storedLinkId === undefined || (await canSeeLink(deps, request, storedLinkId)) ? response : echoSale(body);
    },
  );
}
