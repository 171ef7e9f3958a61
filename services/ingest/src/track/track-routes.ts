import { linkSight } from '@waymark/catalog';
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
import { createBacklog } from './conversions/backlog.js';
import { type ClickFinder, createClickFinder } from './conversions/click-finder.js';
import { createTrackedCustomers } from './conversions/customers.js';
import { createLatestLeads } from './conversions/latest-leads.js';
import { createLeadTracker } from './conversions/lead-tracker.js';
import { createSaleStore } from './conversions/sale-store.js';
import { createSaleTracker, saleAsSent } from './conversions/sale-tracker.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

const SHED_RETRY_AFTER_SECONDS = 5;

/** Refuses conversions while Redis is short of memory, before any command is sent to it. */
function shedding(producer: Pick<EventProducer, 'load'>) {
  return async (): Promise<void> => {
    if (producer.load() === 'normal') return;
    throw new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
      retryAfterSeconds: SHED_RETRY_AFTER_SECONDS,
    });
  };
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

/** Whether the caller may see the link: owners see all of them, others those that are in no hidden folder. */
async function maySee(
  { catalog }: TrackDeps,
  { workspace, apiKey }: Pick<FastifyRequest, 'workspace' | 'apiKey'>,
  linkId: string | null,
): Promise<boolean> {
  const sight = linkSight(apiKey);
  if (!sight.hidesFolders) return true;
  const link = linkId === null ? undefined : await catalog.links.get(workspace.id, linkId);
  return link !== undefined && (await catalog.hiddenFolders.seen(workspace.id, sight, [link])).length > 0;
}

/** Every `/track` route; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackDeps): Promise<void> {
  const { clickhouse, producer, freshClicks, now } = deps;
  const clicks = createClickFinder({ clickhouse, producer, freshClicks, now });
  const trackers = createTrackers(deps, clicks);
  const shed = shedding(producer);
  const hooks = { onRequest: app.authenticate(REQUIREMENTS), preHandler: shed };
  await browserRoutes(app, deps);
  await clientRoutes(app, deps, createClientTrackers(deps, clicks, trackers), shed);

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
      const answer = await trackers.leads.track(request.workspace.id, storableBody<TrackLeadBody>(request.body));
      if (answer.link === null || (await maySee(deps, request, answer.link.id))) return answer;
      return { ...answer, link: null };
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
      const { answer, storedFor } = await trackers.sales.track(request.workspace.id, body);
      return storedFor === undefined || (await maySee(deps, request, storedFor)) ? answer : saleAsSent(body);
    },
  );
}
