export { isBotAgent } from './bot-test.js';
export * from './client-address.js';
export type { GeoEdge, GeoHeaderNames } from './geo-headers.js';
export { DIRECT, readReferer, withoutWww } from './referer.js';
export * from './visit-reader.js';
