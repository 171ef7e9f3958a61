export { type ClickFacts, clickRow, clickRowText } from './click-row.js';
export * from './columns.js';
export { type LeadFacts, leadRow, type SaleFacts, saleRow } from './conversion-rows.js';
export { metadataPairs } from './metadata-pairs.js';
export { type EventPayload, PAYLOAD_HEAD, PAYLOAD_TAIL, parsePayload } from './payload.js';
export { type PayloadParts, readPayload, type SaleParts } from './payload-text.js';
export { type RowKey, type RowSubjects, rowKey, rowSubjects } from './row-key.js';
