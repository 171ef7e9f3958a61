import type { App } from '@waymark/http-kit';
import type { LinkParts } from '../link-parts.js';
import { bulkRoutes } from './bulk-routes.js';
import { changeRoutes } from './change-routes.js';
import { readRoutes } from './read-routes.js';

/** Everything under `/links`. */
export async function linkRoutes(app: App, parts: LinkParts): Promise<void> {
  await readRoutes(app, parts);
  await changeRoutes(app, parts);
  await bulkRoutes(app, parts);
}
