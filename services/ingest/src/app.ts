import { type App, authPlugin, type CreateAppOptions, createApp, domainCheckRoutes } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { IngestDeps } from './ingest-deps.js';
import { redirectRoutes, routerTarget, shortcutVisits } from './redirect/redirect-routes.js';
import { browserRoutes } from './track/browser/browser-routes.js';
import { trackRoutes } from './track/track-routes.js';

/** Patterns of the routes of visits and of the form that opens a link. HTTPS is required of the API only. */
const VISIT_PATHS = ['/', '/*'];

/** What browsers and proxies send is far below. */
const VISIT_HEADER_BYTES_MAX = 16 * 1024;

/** The app of the link port: every path is a short link's, except that browsers report clicks here as well. */
export function buildLinkApp(
  options: CreateAppOptions,
  deps: IngestDeps,
  operations?: Pick<Operations, 'requests' | 'tracing'>,
): App {
  const app = createApp({
    title: 'Waymark links',
    ...options,
    systemRoutes: false,
    headerBytesMax: VISIT_HEADER_BYTES_MAX,
    rewriteUrl: routerTarget,
    plainHttpPaths: VISIT_PATHS,
  });
  if (operations !== undefined) app.register(requestCountPlugin, { operations, isLinkPort: true });
  app.register(async (routes) => browserRoutes(routes as App, deps));
  app.register(async (routes) => redirectRoutes(routes, deps));
  // Hooks of the app trace.
  if (operations?.tracing === undefined) shortcutVisits(app, deps, operations?.requests.countVisit);
  return app;
}

/** The track endpoints as an app of their own. */
export function buildTrackApp(
  options: CreateAppOptions,
  deps: IngestDeps,
  operations?: Pick<Operations, 'requests' | 'tracing'>,
): App {
  const app = createApp({ title: 'Waymark ingest', ...options });
  if (operations !== undefined) app.register(requestCountPlugin, { operations });
  app.register(authPlugin, deps);
  app.register(async (routes) => trackRoutes(routes as App, deps));
  app.register(async (routes) => domainCheckRoutes(routes as App, deps));
  return app;
}
