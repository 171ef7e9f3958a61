export * from './analytics/index.js';
export { type BindScope, type BoundFilters, type BoundRequest, bind, bindFilters } from './bind.js';
export { compile, type EventsRequest } from './compile.js';
export { type Cursor, openCursor, type Position, writeCursor } from './cursor.js';
export { checkDateRange } from './date-range-gate.js';
export { parseInstant } from './dates/instant.js';
export type { TimeRange } from './dates/time-range.js';
export { type PageStart, planFirstEvent, planHead, planSlot } from './far-page.js';
export { linkNames } from './link-names.js';
export { planLinkEvents } from './link-reads.js';
export { parseMultiValue, type ValueLists } from './multi-value.js';
export { edgeOf, listText, type PageEdge, untilEdge } from './page-edge.js';
export { type FilterQuery, parse, parseFilters } from './parse.js';
export type { CustomerReference, Filter, LinkReference, Page, ParsedFilters, ParsedRequest } from './parsed-request.js';
export { type PagePlan, plan } from './plan.js';
export {
  allowedLinksFact,
  type FactPlan,
  isBeyondEnd,
  isFarPage,
  type PlanFacts,
  planCount,
  planCountEver,
  planLinks,
  planRemoved,
  removedLinksFact,
} from './plan-facts.js';
export { type CompiledQuery, print, printFact } from './print.js';
export { printCount, printSlot } from './print-far-page.js';
export type { QuerySettings } from './read-limits.js';
