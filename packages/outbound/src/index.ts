export { AddressRefusedError } from './address-guard.js';
export { AnswerRefusedError } from './bounded-answers.js';
export { createGuardedAgents, type GuardedAgents, type OutboundOptions } from './guarded-agents.js';
export {
  createOutbound,
  type Outbound,
  type OutboundResponse,
} from './outbound.js';
