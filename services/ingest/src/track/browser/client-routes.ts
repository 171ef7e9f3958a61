import {
  type TrackLeadBody,
  type TrackSaleBody,
  trackLeadClientBodySchema,
  trackLeadResponseSchema,
  trackSaleClientBodySchema,
  trackSaleResponseSchema,
} from '@waymark/contract';
import { type App, clientAddress, clientNetwork } from '@waymark/http-kit';
import type { FastifyRequest, preHandlerAsyncHookHandler } from 'fastify';
import { storableBody } from '../storable-body.js';
import type { TrackDeps } from '../track-deps.js';
import { checkHostname } from './allowed-hostnames.js';
import type { ClientCaller, ClientTrackers } from './client-trackers.js';
import { createNetworkLimits } from './network-limits.js';
import { answerPreflights, BROWSER_ROUTE } from './preflights.js';

const REQUIREMENTS = { keyKind: 'publishable', minimumPlan: 'business' } as const;

/** A hook that rejects calls from pages of hosts that the workspace does not allow. */
async function checkPage({ workspace, headers }: FastifyRequest): Promise<void> {
  checkHostname(workspace.allowedHostnames, headers);
}

/**
 * `POST /track/lead/client` and `/track/sale/client`: conversions from a page, with a publishable key. Reads no cookie; the page passes
 * `clickId`.
 *
 * @param trackersOf returns the trackers for the queue shard of a workspace
 * @param shed rejects calls while Redis is short of memory
 */
export async function clientRoutes(
  app: App,
  deps: TrackDeps,
  trackersOf: (workspaceId: string) => Promise<ClientTrackers>,
  shed: preHandlerAsyncHookHandler,
): Promise<void> {
  answerPreflights(app, ['/track/lead/client', '/track/sale/client']);
  const limits = createNetworkLimits(deps);
  // The network limit comes first, so that rejected calls do not count against the shared publishable key.
  const onRequest = [limits.countPageConversion, app.authenticate(REQUIREMENTS), checkPage];
  const shared = { ...BROWSER_ROUTE, onRequest, preHandler: shed };
  const takeDailyEvents = (request: FastifyRequest, events: number) =>
    limits.takeDailyEvents(request.workspace, clientAddress(request), events);

  const callerOf = (request: FastifyRequest): ClientCaller => ({
    workspaceId: request.workspace.id,
    network: clientNetwork(request),
  });

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
    async (request) => {
      await takeDailyEvents(request, request.body.eventQuantity ?? 1);
      const trackers = await trackersOf(request.workspace.id);
      return trackers.trackLead(callerOf(request), storableBody<TrackLeadBody>(request.body));
    },
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
    async (request) => {
      // A direct sale may record its lead as well.
      await takeDailyEvents(request, request.body.clickId ? 2 : 1);
      const trackers = await trackersOf(request.workspace.id);
      return trackers.trackSale(callerOf(request), storableBody<TrackSaleBody>(request.body));
    },
  );
}
