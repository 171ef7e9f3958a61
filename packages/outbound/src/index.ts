export { AddressRefusedError } from './address-guard.js';
export { createGuardedAgents, type GuardedAgents, type OutboundOptions } from './guarded-agents.js';
export {
  createOutbound,
  type Outbound,
  type OutboundResponse,
} from './outbound.js';
