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
import type { App } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { browserRoutes } from './browser/browser-routes.js';
import { clientRoutes } from './browser/client-routes.js';
import { scriptRoutes } from './browser/script-routes.js';
import type { ConversionTrackers } from './conversion-trackers.js';
import { echoSale } from './conversions/sale-tracker.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

const SHED_RETRY_AFTER_SECONDS = 5;

/** Dependencies of the routes of `/track`. */
export interface TrackRouteDeps extends TrackDeps {
  readonly conversions: ConversionTrackers;
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

/** Registers the routes that pages post events to, on both ports; the app must have `authPlugin`. */
export async function pageRoutes(app: App, deps: TrackRouteDeps): Promise<void> {
  await browserRoutes(app, deps);
  const clientTrackersOf = async (workspaceId: string) => (await deps.conversions.of(workspaceId)).clientTrackers;
  await clientRoutes(app, deps, clientTrackersOf, shedLoad(deps));
}

/** Registers all `/track` routes and the browser script; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackRouteDeps): Promise<void> {
  const { conversions } = deps;
  const hooks = { onRequest: app.authenticate(REQUIREMENTS), preHandler: shedLoad(deps) };
  await scriptRoutes(app);
  await pageRoutes(app, deps);

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
