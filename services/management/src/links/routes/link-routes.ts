import type { ExportDeps } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import type { LinkDeps } from '../link-deps.js';
import { bulkRoutes } from './bulk-routes.js';
import { changeRoutes } from './change-routes.js';
import { readRoutes } from './read-routes.js';

/** Registers all routes under `/links`. */
export async function linkRoutes(app: App, deps: LinkDeps & ExportDeps): Promise<void> {
  await readRoutes(app, deps);
  await changeRoutes(app, deps);
  await bulkRoutes(app, deps);
}
