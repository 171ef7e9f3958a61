import { type App, authPlugin, type CreateAppOptions, createApp, domainCheckRoutes } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { IngestDeps } from './ingest-deps.js';
import { redirectRoutes, routerTarget, serveVisitsDirectly } from './redirect/redirect-routes.js';
import { pageRoutes, trackRoutes } from './track/track-routes.js';

/** Route patterns of short links and of their password form. HTTPS is required only for the API. */
const VISIT_PATHS = ['/', '/*'];

/** Limit on the headers of a request; browsers and proxies send far less. */
const VISIT_HEADER_BYTES_MAX = 16 * 1024;

/** The app of the link port. Every path may be a short link, except those of the browser script and of the events that pages post. */
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
  app.register(authPlugin, deps);
  app.register(async (routes) => pageRoutes(routes as App, deps));
  app.register(async (routes) => redirectRoutes(routes, deps));
  // Not with tracing, which needs the hooks of the app: visits that are served directly bypass them.
  if (operations?.tracing === undefined) serveVisitsDirectly(app, deps, operations?.requests.countVisit);
  return app;
}

/** The app of the API port, with the `/track` endpoints. */
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
