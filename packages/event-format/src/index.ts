export * from './event-rows.js';
export { metadataPairs } from './metadata-pairs.js';
export { type PayloadParts, readPayload, type SaleParts } from './payload-text.js';
export { type RowKey, type RowSubjects, rowKey, rowSubjects } from './row-key.js';
