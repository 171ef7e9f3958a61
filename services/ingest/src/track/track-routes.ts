import {
  ApiError,
  type TrackLeadBody,
  type TrackSaleBody,
  trackLeadBodySchema,
  trackLeadClientBodySchema,
  trackLeadResponseSchema,
  trackSaleBodySchema,
  trackSaleClientBodySchema,
  trackSaleResponseSchema,
} from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { App } from '@waymark/http-kit';
import { createBacklog } from './backlog.js';
import { browserRoutes } from './browser-routes.js';
import { createClickFinder } from './click-finder.js';
import { createTrackedCustomers } from './customers.js';
import { createLatestLeads } from './latest-leads.js';
import { createLeadTracker, type LeadTracker } from './lead-tracker.js';
import { answerPreflights, FROM_PAGES } from './preflights.js';
import { authenticatePublishable } from './publishable-key.js';
import { createSaleStore } from './sale-store.js';
import { createSaleTracker, type SaleTracker } from './sale-tracker.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

const SHED_RETRY_AFTER_SECONDS = 5;

/** Turns conversions away while Redis is short of memory, before anything is asked of it. */
function shedding(producer: Pick<EventProducer, 'load'>) {
  return async (): Promise<void> => {
    if (producer.load() === 'normal') return;
    throw new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
      retryAfterSeconds: SHED_RETRY_AFTER_SECONDS,
    });
  };
}

interface Trackers {
  readonly leads: LeadTracker;
  readonly sales: SaleTracker;
}

function createTrackers(deps: TrackDeps): Trackers {
  const { catalog, producer, clickhouse, freshClicks, readState, now } = deps;
  const backlog = createBacklog(producer, now);
  const clicks = createClickFinder({ clickhouse, producer, freshClicks, now });
  const customers = createTrackedCustomers(catalog, backlog, now);
  const leads = createLatestLeads({ clickhouse, readState, clicks, backlog });
  const sales = createSaleStore(clickhouse);
  return {
    leads: createLeadTracker({ deps, customers, clicks, leads }),
    sales: createSaleTracker({ deps, customers, clicks, leads, sales, backlog }),
  };
}

/** `POST /track/lead/client` and `/track/sale/client`: the same from a page, with a publishable key (spec 6.7). */
async function clientRoutes(app: App, deps: TrackDeps, { leads, sales }: Trackers): Promise<void> {
  answerPreflights(app, ['/track/lead/client', '/track/sale/client']);
  const shared = { ...FROM_PAGES, onRequest: authenticatePublishable(deps), preHandler: shedding(deps.producer) };
  app.post(
    '/track/lead/client',
    {
      ...shared,
      schema: {
        summary: 'Track a lead from a page',
        tags: ['Track'],
        body: trackLeadClientBodySchema,
        response: { 200: trackLeadResponseSchema },
      },
    },
    (request) => leads.track(request.workspace.id, storableBody<TrackLeadBody>(request.body)),
  );
  app.post(
    '/track/sale/client',
    {
      ...shared,
      schema: {
        summary: 'Track a sale from a page',
        tags: ['Track'],
        body: trackSaleClientBodySchema,
        response: { 200: trackSaleResponseSchema },
      },
    },
    (request) => sales.track(request.workspace.id, storableBody<TrackSaleBody>(request.body)),
  );
}

/** Every `/track` route; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackDeps): Promise<void> {
  const trackers = createTrackers(deps);
  const hooks = { onRequest: app.authenticate(REQUIREMENTS), preHandler: shedding(deps.producer) };
  await browserRoutes(app, deps);
  await clientRoutes(app, deps, trackers);

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
    (request) => trackers.leads.track(request.workspace.id, storableBody<TrackLeadBody>(request.body)),
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
    (request) => trackers.sales.track(request.workspace.id, storableBody<TrackSaleBody>(request.body)),
  );
}
