import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { type App, authPlugin, type CreateAppOptions, createApp } from '@waymark/http-kit';
import type { RateLimiter } from '@waymark/rate-limit';
import { analyticsRoutes } from './analytics/route.js';
import { createBusyGate } from './busy-gate.js';
import { eventRoutes } from './events/route.js';
import { createRemovedLinksMemory } from './removed-links.js';

/** What the routes of this service work on. */
export interface QueryDeps {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  readonly now: () => number;
}

/** The embedded engine runs eight statements at a time, and the writer and the catalog need theirs. */
const READS_RUNNING_MAX = 6;
const READS_WAITING_MAX = 200;
const READ_WAIT_MS_MAX = 5000;

/** Every route of this service; the app must have `authPlugin`. */
export async function queryRoutes(app: App, deps: QueryDeps): Promise<void> {
  const parts = {
    ...deps,
    removedLinks: createRemovedLinksMemory(deps.now),
    busyGate: createBusyGate({
      runningMax: READS_RUNNING_MAX,
      waitingMax: READS_WAITING_MAX,
      waitMsMax: READ_WAIT_MS_MAX,
    }),
  };
  await eventRoutes(app, parts);
  await analyticsRoutes(app, parts);
}

/** The service as an app of its own. */
export function buildApp(options: CreateAppOptions, deps: QueryDeps & { readonly rateLimiter: RateLimiter }): App {
  const app = createApp({ title: 'Waymark query', ...options });
  app.register(authPlugin, deps);
  app.register(async (routes) => queryRoutes(routes as App, deps));
  return app;
}
