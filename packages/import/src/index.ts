export { fileFormat } from './files/file-format.js';
export type { EventCounts, EventReport } from './history/event-report.js';
export { type EventImportOptions, importEvents } from './history/import-events.js';
export type { HistoryItem, HistorySource, PastEvent } from './history/past-event.js';
export { mapToDomainOfLog } from './history/yourls-history.js';
export { ImportError } from './model/import-error.js';
export { isTimezone } from './model/times.js';
export {
  type ApiSourceOptions,
  checkApi,
  type OpenSource,
  openApi,
  openApiHistory,
  openFile,
  openFileHistory,
} from './open-source.js';
export { type DomainMap, parseDomainMap } from './run/domain-map.js';
export { type ImportOptions, importLinks } from './run/import-links.js';
export {
  type ImportCounts,
  type ImportPosition,
  type ImportReport,
  type Loss,
  NO_COUNTS,
  type Rejection,
} from './run/import-report.js';
export { ON_CONFLICT } from './run/link-writer.js';
export { createReportLines, NO_LINES, type ReportState } from './run/report-lines.js';
export { orAborted, untilAborted } from './run/until-aborted.js';
