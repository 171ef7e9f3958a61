import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient, QueryCaller, QueryReport } from '@waymark/clickhouse';
import { type App, authPlugin, type CreateAppOptions, createApp } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { RateLimiter } from '@waymark/rate-limit';
import { analyticsRoutes } from './analytics/route.js';
import { eventRoutes } from './events/route.js';
import { createInTurn } from './in-turn.js';
import { partnerAnalyticsRoutes } from './partner-analytics/route.js';
import { createPlanCache } from './plan-cache.js';

/** What the routes of this service work on. */
export interface QueryDeps {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  readonly now: () => number;
  /** Events are deleted after a time (`EVENT_RETENTION_DAYS`), counters of links stay. */
  readonly eventsExpire?: boolean | undefined;
  /** Told of every query that ended by itself. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** Every route of this service; the app must have `authPlugin`. */
export async function queryRoutes(app: App, deps: QueryDeps): Promise<void> {
  const planCache = createPlanCache(deps.now, deps.catalog.isSubscribed);
  deps.catalog.subscribe(planCache);
  const inTurn = createInTurn({ ...deps, planCache });
  await eventRoutes(app, { ...deps, inTurn });
  await analyticsRoutes(app, { ...deps, inTurn });
  await partnerAnalyticsRoutes(app, { ...deps, inTurn });
}

/** The service as an app of its own. */
export function buildApp(
  options: CreateAppOptions,
  deps: QueryDeps & { readonly rateLimiter: RateLimiter },
  operations?: Pick<Operations, 'requests' | 'tracing'>,
): App {
  const app = createApp({ title: 'Waymark query', ...options });
  if (operations !== undefined) app.register(requestCountPlugin, { operations });
  app.register(authPlugin, deps);
  app.register(async (routes) => queryRoutes(routes as App, deps));
  return app;
}
