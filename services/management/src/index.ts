export { buildApp, type ManagementDeps, managementRoutes } from './app.js';
