export { AddressRefusedError } from './address-guard.js';
export {
  createOutbound,
  type Outbound,
  type OutboundOptions,
  type OutboundRequest,
  type OutboundResponse,
} from './outbound.js';
