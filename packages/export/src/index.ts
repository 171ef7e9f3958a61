export { type Column, type ColumnType, chooseColumns } from './columns.js';
export { createExportSlots, type ExportDeps } from './export-slots.js';
export { type ExportSource, type PagedList, slicesOf } from './export-source.js';
export { MEDIA_TYPES, sendList } from './send-list.js';
export { sendTables, type Table } from './send-tables.js';
