export * from './analytics/index.js';
export { type BindScope, type BoundFilters, type BoundRequest, bind, bindFilters } from './bind/bind.js';
export { compile } from './compile.js';
export { parseInstant } from './dates/instant.js';
export { zoneOf } from './dates/zone.js';
export { type FirstPageHint, hintOf, listKey, narrowToHint } from './first-page-hint.js';
export { formatCursor, parseCursor } from './parse/cursor.js';
export { checkDateRange } from './parse/date-range-limits.js';
export { externalLinkIds } from './parse/external-link-ids.js';
export { parseMultiValue, type ValueLists } from './parse/multi-value.js';
export type { Position } from './parse/page.js';
export { parse, parseFilters } from './parse/parse.js';
export { parseExport } from './parse/parse-export.js';
export type {
  LinkReference,
  ParsedFilters,
  ParsedRequest,
  StoredWindow,
} from './parse/parsed-request.js';
export { type EventSetFilters, planEventSet } from './plan/event-set.js';
export { planPartialSlotCount, planStartSlot } from './plan/far-page.js';
export { planLinkEventCount } from './plan/link-reads.js';
export { planOneEvent } from './plan/one-event.js';
export { plan } from './plan/plan.js';
export {
  allowedLinksStats,
  areManyEvents,
  isBeyondEnd,
  isFarPage,
  type PlannerStats,
  planAllowedLinks,
  planAllRemovedLinks,
  planRangeCount,
  planRemovedLinks,
  planTotalCount,
  REMOVED_LINKS_MAX,
  removedLinksStats,
  type StatsPlan,
} from './plan/planner-stats.js';
export { type CompiledQuery, printPage, printStats } from './print/print.js';
export { printEventSet } from './print/print-event-set.js';
export { printCount, printStartSlot } from './print/print-far-page.js';
export { dateTimeText } from './sql/date-time-text.js';
export { READ_LIMITS } from './sql/read-limits.js';
