export { isBotAgent } from './bot-agent.js';
export * from './client-address.js';
export type { GeoEdge } from './geo-headers.js';
export { type RawPlace, toPlace } from './place.js';
export { asksForPrivacy, withoutIdentity } from './privacy-signal.js';
export { DIRECT, readReferer } from './referer.js';
export { createAgentReader } from './user-agent.js';
export * from './visit-reader.js';
