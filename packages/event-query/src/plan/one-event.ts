import type { BoundRequest } from '../bind/bind.js';
import type { Position } from '../parse/page.js';
import { READ_LIMITS } from '../sql/read-limits.js';
import { happenedWithin } from '../sql/time-conditions.js';
import { type PagePlan, SHAPES } from './plan.js';

/** Plans the query that checks whether an event exists in the workspace: it returns one row, or none. Filters are ignored. */
export function planOneEvent({ kind, workspace }: BoundRequest, { timeMs, id }: Position): PagePlan {
  const { table, id: column } = SHAPES[kind];
  const isEvent = { type: 'compare', column, operator: '=', value: { type: 'String', value: id } } as const;
  const where = [...happenedWithin({ fromMs: timeMs, toMs: timeMs }), isEvent];
  return {
    read: { table, isFinal: false, workspace, columns: [column], where },
    orderBy: [column],
    direction: 'ASC',
    limit: 1n,
    offset: 0n,
    settings: { ...READ_LIMITS, max_threads: 1, log_comment: `event of ${kind}` },
  };
}
