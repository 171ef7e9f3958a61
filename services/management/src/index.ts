export { buildApp, type ManagementDeps, managementRoutes } from './app.js';
export { opsRoutes } from './ops/ops-routes.js';
