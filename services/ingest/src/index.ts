export { buildLinkApp, buildTrackApp } from './app.js';
export { createIngestDeps, type IngestDeps, type IngestDepsOptions } from './ingest-deps.js';
export { redirectRoutes } from './redirect/redirect-routes.js';
export { trackRoutes } from './track/track-routes.js';
export { warmCaches } from './warm-up.js';
