export { type App, type CreateAppOptions, createApp } from './app.js';
export { type AuthenticateHook, type AuthPluginOptions, authPlugin, type KeyCatalog } from './auth-plugin.js';
export { countRequest } from './count-request.js';
export type { ReadinessChecks } from './health.js';
export { sendJsonText } from './json-text.js';
export { type CreateLoggerOptions, createLogger, type Logger } from './logger.js';
export type { RouteRequirements } from './route-requirements.js';
export { type RunServiceOptions, runService, type Service } from './run-service.js';
export { parseInput } from './validator.js';
