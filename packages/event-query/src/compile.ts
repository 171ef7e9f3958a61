import type { EventsQuery } from '@waymark/contract';
import { type BindScope, bind } from './bind/bind.js';
import { parseCursor } from './parse/cursor.js';
import { parse } from './parse/parse.js';
import { plan } from './plan/plan.js';
import type { PlannerStats } from './plan/planner-stats.js';
import { type CompiledQuery, printPage } from './print/print.js';

/** Everything that determines a page of events, except the current time. */
export interface EventsRequest {
  readonly query: EventsQuery;
  readonly scope: BindScope;
  /** Planner statistics that the caller has already read. Optional: without them the query is only slower. */
  readonly stats?: PlannerStats | undefined;
}

/**
 * Runs all stages: parse, bind, plan, print. For tests and benches: `services/query` runs the stages one by one, because it looks up
 * references and planner statistics in between. Deterministic: the same request and time give the same SQL, byte for byte.
 *
 * @param nowMs epoch milliseconds
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function compile(request: EventsRequest, nowMs: number): CompiledQuery {
  const { query, scope } = request;
  const parsed = parse(query, nowMs, parseCursor({ query, workspaceId: scope.workspaceId }));
  return printPage(plan(bind(parsed, scope), request.stats));
}
