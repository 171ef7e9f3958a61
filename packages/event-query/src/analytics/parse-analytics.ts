import {
  type AnalyticsEvent,
  type AnalyticsQuery,
  EVENT_KINDS,
  type EventKind,
  type Grouping,
} from '@waymark/contract';
import { parseFilters } from '../parse/parse.js';
import type { ParsedFilters } from '../parse/parsed-request.js';
import { type Timeline, timelineOf } from './timeline.js';

/** The parsed query string of `GET /analytics`. */
export interface ParsedAnalytics {
  readonly event: AnalyticsEvent;
  readonly grouping: Grouping;
  readonly filters: ParsedFilters;
  /** Only for `groupBy=timeseries`. */
  readonly timeline: Timeline | undefined;
}

/** The time of the request and the time when the events of its workspace begin, in epoch milliseconds. */
export interface AnalyticsClock {
  readonly nowMs: number;
  readonly sinceMs: number;
}

/** The event kinds that an event type counts: all for `composite`. */
export function kindsOf(event: AnalyticsEvent): readonly [EventKind, ...EventKind[]] {
  return event === 'composite' ? EVENT_KINDS : [event];
}

/**
 * Parses the query string of `GET /analytics`.
 *
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function parseAnalytics(query: AnalyticsQuery, { nowMs, sinceMs }: AnalyticsClock): ParsedAnalytics {
  const event = query.event ?? 'clicks';
  const groupBy = query.groupBy ?? 'count';
  const grouping = groupBy === 'trigger' ? 'triggers' : groupBy;
  const filters = parseFilters({ ...query, event: kindsOf(event)[0] }, nowMs);
  const timeline = grouping === 'timeseries' ? timelineOf(filters.range, sinceMs) : undefined;
  return { event, grouping, filters, timeline };
}
