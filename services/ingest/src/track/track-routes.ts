import {
  ApiError,
  type TrackLeadBody,
  type TrackSaleBody,
  trackClickBodySchema,
  trackClickResponseSchema,
  trackLeadBodySchema,
  trackLeadResponseSchema,
  trackSaleBodySchema,
  trackSaleResponseSchema,
} from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { App } from '@waymark/http-kit';
import { createBacklog } from './backlog.js';
import { createClickFinder } from './click-finder.js';
import { createClickTracker } from './click-tracker.js';
import { allowCrossOrigin } from './cors.js';
import { createTrackedCustomers } from './customers.js';
import { createLatestLeads } from './latest-leads.js';
import { createLeadTracker } from './lead-tracker.js';
import { createSaleStore } from './sale-store.js';
import { createSaleTracker } from './sale-tracker.js';
import { storableBody } from './storable-body.js';
import type { TrackDeps } from './track-deps.js';

const REQUIREMENTS = {
  permission: 'conversions.write',
  minimumPlan: 'business',
  roles: ['owner', 'member'],
} as const;

/** A browser's report is small; the longest field is a URL. */
const CLICK_BODY_BYTES_MAX = 128 * 1024;

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

function lastText(value: unknown): string | undefined {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' ? last : undefined;
}

/** `POST /track/click` and its preflight, in a scope of its own because of its headers. */
export async function trackClickRoutes(app: App, deps: TrackDeps): Promise<void> {
  const tracker = createClickTracker(deps);
  await app.register(async (plain) => {
    const scope = plain as App;
    allowCrossOrigin(scope, '/track/click');
    scope.post(
      '/track/click',
      {
        bodyLimit: CLICK_BODY_BYTES_MAX,
        schema: {
          summary: 'Record a click from a browser',
          tags: ['Track'],
          body: trackClickBodySchema,
          response: { 200: trackClickResponseSchema },
        },
      },
      (request) => {
        const query = request.query as Readonly<Record<string, unknown>>;
        return tracker.track(storableBody(request.body), {
          remoteAddress: request.raw.socket.remoteAddress,
          headers: request.headers,
          isTracked: request.headers['dub-no-track'] === undefined && query['dub-no-track'] === undefined,
          botParameter: lastText(query.bot),
        });
      },
    );
  });
}

/** `POST /track/click`, `/track/lead` and `/track/sale`; the app must have `authPlugin`. */
export async function trackRoutes(app: App, deps: TrackDeps): Promise<void> {
  const { catalog, producer, clickhouse, readState, now } = deps;
  const backlog = createBacklog(producer, now);
  const clicks = createClickFinder({ clickhouse, producer, now });
  const customers = createTrackedCustomers(catalog, backlog, now);
  const leads = createLatestLeads({ clickhouse, readState, clicks, backlog });
  const leadTracker = createLeadTracker({ deps, customers, clicks, leads });
  const sales = createSaleStore(clickhouse);
  const saleTracker = createSaleTracker({ deps, customers, clicks, leads, sales, backlog });

  await trackClickRoutes(app, deps);

  app.post(
    '/track/lead',
    {
      onRequest: app.authenticate(REQUIREMENTS),
      preHandler: shedding(producer),
      schema: {
        summary: 'Track a lead',
        tags: ['Track'],
        body: trackLeadBodySchema,
        response: { 200: trackLeadResponseSchema },
      },
    },
    (request) => leadTracker.track(request.workspace.id, storableBody<TrackLeadBody>(request.body)),
  );

  app.post(
    '/track/sale',
    {
      onRequest: app.authenticate(REQUIREMENTS),
      preHandler: shedding(producer),
      schema: {
        summary: 'Track a sale',
        tags: ['Track'],
        body: trackSaleBodySchema,
        response: { 200: trackSaleResponseSchema },
      },
    },
    (request) => saleTracker.track(request.workspace.id, storableBody<TrackSaleBody>(request.body)),
  );
}
