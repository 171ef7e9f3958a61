import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient, QueryCaller, QueryReport } from '@waymark/clickhouse';
import type { ExportDeps } from '@waymark/export';
import { type App, authPlugin, type CreateAppOptions, createApp } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { RateLimiter } from '@waymark/rate-limit';
import { analyticsRoutes } from './analytics/route.js';
import { eventRoutes } from './events/route.js';
import { analyticsExportRoutes } from './export/analytics-export-route.js';
import { eventsExportRoutes } from './export/events-export-route.js';
import { partnerAnalyticsRoutes } from './partner-analytics/route.js';
import { createPlanCache } from './plan-cache.js';
import { createReadRunners } from './workspace-concurrency.js';

/** Dependencies of the routes. */
export interface QueryDeps extends ExportDeps {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  readonly now: () => number;
  /** Whether events expire (`EVENT_RETENTION_DAYS`). The totals of links do not expire with them. */
  readonly eventsExpire?: boolean | undefined;
  /** Called after each query that was not cancelled. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** Registers all routes of this service. The app must have `authPlugin`. */
export async function queryRoutes(app: App, deps: QueryDeps): Promise<void> {
  app.addHook('preClose', async () => deps.exportSlots.close());
  const planCache = createPlanCache(deps.now, deps.catalog.isSubscribed);
  deps.catalog.subscribe(planCache);
  const withReads = { ...deps, ...createReadRunners({ ...deps, planCache }) };
  await eventRoutes(app, withReads);
  await eventsExportRoutes(app, withReads);
  await analyticsRoutes(app, withReads);
  await analyticsExportRoutes(app, withReads);
  await partnerAnalyticsRoutes(app, withReads);
}

/** Builds the app of the service when it runs as a process of its own. */
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
