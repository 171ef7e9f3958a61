import { linkVisibility } from '@waymark/catalog';
import {
  ApiError,
  type TrackLeadBody,
  type TrackSaleBody,
  trackLeadBodySchema,
  trackLeadResponseSchema,
  trackSaleBodySchema,
  trackSaleResponseSchema,
} from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { App } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { browserRoutes } from './browser/browser-routes.js';
import { clientRoutes } from './browser/client-routes.js';
import { createClientTrackers, type Trackers } from './browser/client-trackers.js';
import { scriptRoutes } from './browser/script-routes.js';
import { createBacklog } from './conversions/backlog.js';
import { type ClickFinder, createClickFinder } from './conversions/click-finder.js';
import { createTrackedCustomers } from './conversions/customers.js';
import { createLatestLeads } from './conversions/latest-leads.js';
import { createLeadTracker } from './conversions/lead-tracker.js';
import { createSaleStore } from './conversions/sale-store.js';
import { createSaleTracker, echoSale } from './conversions/sale-tracker.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

const SHED_RETRY_AFTER_SECONDS = 5;

/** A hook that rejects conversions while Redis is short of memory, before any command is sent to it. */
function shedLoad(producer: Pick<EventProducer, 'load'>) {
  return async (): Promise<void> => {
    if (producer.load() === 'normal') return;
    throw new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
      retryAfterSeconds: SHED_RETRY_AFTER_SECONDS,
    });
  };
}

interface Conversions {
  readonly clicks: ClickFinder;
  readonly trackers: Trackers;
  /** Rejects conversions while Redis is short of memory. */
  readonly shed: ReturnType<typeof shedLoad>;
}

function createConversions(deps: TrackDeps): Conversions {
  const { clickhouse, producer, freshClicks, now } = deps;
  const clicks = createClickFinder({ clickhouse, producer, freshClicks, now });
  return { clicks, trackers: createTrackers(deps, clicks), shed: shedLoad(producer) };
}

function createTrackers(deps: TrackDeps, clicks: ClickFinder): Trackers {
  const { catalog, producer, clickhouse, readState, now } = deps;
  const backlog = createBacklog(producer, now);
  const customers = createTrackedCustomers(catalog, backlog, now);
  const leads = createLatestLeads({ clickhouse, readState, clicks, backlog });
  const sales = createSaleStore(clickhouse);
  return {
    leads: createLeadTracker({ deps, customers, clicks, leads }),
    sales: createSaleTracker({ deps, customers, clicks, leads, sales, backlog }),
  };
}

/** Whether the caller may see the link: owners see all links, others only those outside hidden folders. */
async function canSeeLink(
  { catalog }: TrackDeps,
  { workspace, apiKey }: Pick<FastifyRequest, 'workspace' | 'apiKey'>,
  linkId: string | null,
): Promise<boolean> {
  const visibility = linkVisibility(apiKey);
  if (!visibility.hidesFolders) return true;
  const link = linkId === null ? undefined : await catalog.links.get(workspace.id, linkId);
  return link !== undefined && (await catalog.hiddenFolders.seen(workspace.id, visibility, [link])).length > 0;
}

/** Registers the routes that pages post events to, on both ports; the app must have `authPlugin`. */
export async function pageRoutes(app: App, deps: TrackDeps, conversions = createConversions(deps)): Promise<void> {
  const { clicks, trackers, shed } = conversions;
  await browserRoutes(app, deps);
  await clientRoutes(app, deps, createClientTrackers(deps, clicks, trackers), shed);
}

/** Registers all `/track` routes and the browser script; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackDeps): Promise<void> {
  const conversions = createConversions(deps);
  const { trackers, shed } = conversions;
  const hooks = { onRequest: app.authenticate(REQUIREMENTS), preHandler: shed };
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
      const response = await trackers.leads.track(request.workspace.id, storableBody<TrackLeadBody>(request.body));
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
      const { response, storedLinkId } = await trackers.sales.track(request.workspace.id, body);
      return storedLinkId === undefined || (await canSeeLink(deps, request, storedLinkId)) ? response : echoSale(body);
    },
  );
}
