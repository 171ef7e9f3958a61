export { AddressRefusedError } from './address-guard.js';
export {
  createOutbound,
  type Outbound,
  type OutboundAnswer,
  type OutboundOptions,
  type OutboundRequest,
} from './outbound.js';
