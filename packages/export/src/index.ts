export { type Column, type ColumnType, chooseColumns, type NamedColumn } from './columns.js';
export { createEncoder } from './encoders/create-encoder.js';
export { createExportSlots, type ExportDeps, type ExportSlots } from './export-slots.js';
export { type ExportSource, type PagedList, slicesOf } from './export-source.js';
export { sendFile } from './send-file.js';
export { fileName, MEDIA_TYPES, sendList } from './send-list.js';
export { sendStoredFile } from './send-stored-file.js';
export { archiveOf, sendTables, type Table } from './send-tables.js';
