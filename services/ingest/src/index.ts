export { buildLinkApp, buildTrackApp } from './app.js';
export { createIngestDeps, type IngestDeps } from './ingest-deps.js';
export { trackRoutes } from './track/track-routes.js';
export { warmCaches } from './warm-up.js';
