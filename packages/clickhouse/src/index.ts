export * from './event-rows.js';
export { metadataPairs } from './metadata-pairs.js';
