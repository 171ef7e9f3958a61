export { ImportError } from './model/import-error.js';
export { SOURCES, type Source } from './model/source-link.js';
export { isTimezone } from './model/times.js';
export { type FileFormat, fileFormat, type OpenSource, openApi, openFile } from './open-source.js';
export { type DomainMap, parseDomainMap } from './run/domain-map.js';
export { type ImportOptions, importLinks } from './run/import-links.js';
export type { ImportCounts, ImportReport, Loss, Rejection } from './run/import-report.js';
export { ON_CONFLICT } from './run/link-writer.js';
