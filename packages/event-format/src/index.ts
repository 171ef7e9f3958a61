export * from './anonymise.js';
export { type ClickFields, clickRow, clickRowText } from './click-row.js';
export * from './columns.js';
export { type LeadFields, leadRow, type SaleFields, saleRow } from './conversion-rows.js';
export { metadataPairs } from './metadata-pairs.js';
export { customerNameRow, NAMES_TABLE } from './name-rows.js';
export { type EventPayload, PAYLOAD_HEAD, PAYLOAD_TAIL, parsePayload } from './payload.js';
export { type PayloadParts, type SaleParts, splitPayload } from './payload-text.js';
export { type RowIds, type RowKey, rowIds, rowKey } from './row-key.js';
