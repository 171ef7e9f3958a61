import { ApiError, type Interval, type Plan } from '@waymark/contract';
import { DAY_MS } from '../dates/calendar.js';
import type { TimeRange } from '../dates/time-range.js';

/** Longest range between explicit dates, in days; plans without an entry have no limit. */
const DAYS_MAX: Readonly<Partial<Record<Plan, number>>> = { free: 31, pro: 366 };
const REFUSED_INTERVALS: Readonly<Partial<Record<Plan, readonly Interval[]>>> = { free: ['90d', '1y', 'ytd'] };

/** The part of a workspace that decides how long a range may be. */
interface RangeOwner {
  readonly plan: Plan;
  /** `interval=all` is measured from there. */
  readonly createdAt: string;
}

/**
 * Refuses a range that is longer than the plan of the workspace allows. Runs after validation.
 *
 * @throws ApiError 403
 */
export function checkDateRange(workspace: RangeOwner, { origin }: TimeRange): void {
  const { plan } = workspace;
  const refuse = (what: string): never => {
    throw new ApiError('forbidden', `The ${plan} plan does not include ${what}.`);
  };
  if (origin.type === 'interval' && REFUSED_INTERVALS[plan]?.includes(origin.interval)) {
    refuse(`the interval ${origin.interval}`);
  }
  const daysMax = DAYS_MAX[plan];
  const spanMs = spanOf(origin, workspace);
  if (daysMax === undefined || spanMs === undefined) return;
  if (Math.ceil(spanMs / DAY_MS) > daysMax) refuse(`ranges of more than ${daysMax} days`);
}

function spanOf(origin: TimeRange['origin'], { createdAt }: RangeOwner): number | undefined {
  if (origin.type === 'dates') return Math.abs(origin.endMs - origin.startMs);
  return origin.interval === 'all' ? Math.abs(origin.nowMs - Date.parse(createdAt)) : undefined;
}
