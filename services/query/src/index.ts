export { buildApp, type QueryDeps, queryRoutes } from './app.js';
