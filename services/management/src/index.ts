export { buildApp, type ManagementDeps, managementRoutes } from './app.js';
export { type OpsDeps, opsRoutes } from './ops/ops-routes.js';
