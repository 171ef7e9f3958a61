export * from './analytics/index.js';
export { type BindScope, type BoundFilters, type BoundRequest, bind, bindFilters } from './bind/bind.js';
export { compile, type EventsRequest } from './compile.js';
export { parseInstant } from './dates/instant.js';
export type { TimeRange } from './dates/time-range.js';
export { edgeOf, listText, type PageEdge, untilEdge } from './first-page-hint.js';
export { type Cursor, openCursor, writeCursor } from './parse/cursor.js';
export { checkDateRange } from './parse/date-range-gate.js';
export { linkNames } from './parse/link-names.js';
export { parseMultiValue, type ValueLists } from './parse/multi-value.js';
export type { Page, Position } from './parse/page.js';
export { type FilterQuery, parse, parseFilters } from './parse/parse.js';
export type {
  CustomerReference,
  Filter,
  LinkReference,
  ParsedFilters,
  ParsedRequest,
} from './parse/parsed-request.js';
export { planFirstEvent, planHead, planSlot } from './plan/far-page.js';
export { planLinkEvents } from './plan/link-reads.js';
export { type PagePlan, plan } from './plan/plan.js';
export {
  allowedLinksFact,
  type FactPlan,
  isBeyondEnd,
  isFarPage,
  type PageStart,
  type PlanFacts,
  planCount,
  planCountEver,
  planLinks,
  planRemoved,
  removedLinksFact,
} from './plan/planner-stats.js';
export { type CompiledQuery, print, printFact } from './print/print.js';
export { printCount, printSlot } from './print/print-far-page.js';
export type { QuerySettings } from './sql/read-limits.js';
