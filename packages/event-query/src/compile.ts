import type { EventsQuery } from '@waymark/contract';
import { type BindScope, bind } from './bind/bind.js';
import { openCursor } from './parse/cursor.js';
import { parse } from './parse/parse.js';
import { plan } from './plan/plan.js';
import type { PlanFacts } from './plan/planner-stats.js';
import { type CompiledQuery, print } from './print/print.js';

/** Everything a page of events depends on, the clock apart. */
export interface EventsRequest {
  readonly query: EventsQuery;
  readonly scope: BindScope;
  /** What was found out before, if anything. */
  readonly facts?: PlanFacts | undefined;
}

/**
 * All stages in one go. Same request, same time, same statement, byte for byte.
 *
 * @param nowMs epoch milliseconds
 * @throws ApiError 400 or 422, naming the parameter
 */
export function compile(request: EventsRequest, nowMs: number): CompiledQuery {
  const { query, scope } = request;
  const parsed = parse(query, nowMs, openCursor({ query, workspaceId: scope.workspaceId }));
  return print(plan(bind(parsed, scope), request.facts));
}
