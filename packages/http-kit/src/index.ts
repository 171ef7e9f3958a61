export { type AdminGuardOptions, adminGuard } from './auth/admin-guard.js';
export {
  type AuthenticateHook,
  authPlugin,
  checkAuthorization,
} from './auth/auth-plugin.js';
export { domainCheckRoutes } from './auth/domain-check.js';
export { type RouteRequirements, registerRequirements } from './auth/route-requirements.js';
export { escapeHtml, Html, html } from './docs/html.js';
export { isStoreUnavailable } from './errors/error-mapper.js';
export { parseInput } from './errors/validator.js';
export { afterAnswer, answeredStatus } from './requests/after-answer.js';
export type { CrossOrigin } from './requests/cross-origin.js';
export { forEachInTurns, mapInTurns } from './requests/in-turns.js';
export { TEXT_BODY_TYPES } from './requests/json-bodies.js';
export { jsonArray, sendJson, sendJsonText } from './requests/json-text.js';
export { allowLongBody } from './requests/long-body.js';
export { onReplyClose } from './requests/on-reply-close.js';
export { applyRateLimit } from './requests/rate-limit.js';
export { createRequestIds, type RequestIds } from './requests/request-id.js';
export { type App, type CreateAppOptions, createApp } from './server/app.js';
export { addOpenRequest, removeOpenRequest } from './server/close-connections.js';
export { limitGarbage } from './server/limit-garbage.js';
export { fileDestination } from './server/log-destination.js';
export { createLogger, type Logger } from './server/logger.js';
export { closeIfPipelinedTooDeep } from './server/pipelined-requests.js';
export { runService, type Service } from './server/run-service.js';
