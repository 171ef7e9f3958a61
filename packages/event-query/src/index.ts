export { type BindScope, type BoundFilters, type BoundRequest, bind, bindFilters } from './bind.js';
export { compile, type EventsRequest } from './compile.js';
export { checkDateRange } from './date-range-gate.js';
export { type FilterQuery, parse, parseFilters } from './parse.js';
export type { CustomerReference, Filter, LinkReference, Page, ParsedFilters, ParsedRequest } from './parsed-request.js';
export {
  type FactPlan,
  factsOf,
  type PagePlan,
  type PlanFacts,
  plan,
  planCount,
  planLinks,
  type QuerySettings,
} from './plan.js';
export { type CompiledQuery, print, printFact } from './print.js';
export type { TimeRange } from './time-range.js';
