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

/** What a query string of `GET /analytics` means. */
export interface ParsedAnalytics {
  readonly event: AnalyticsEvent;
  readonly grouping: Grouping;
  readonly filters: ParsedFilters;
  /** Of a time series only. */
  readonly timeline: Timeline | undefined;
}

/** When the request came, and when its workspace was made: both in epoch milliseconds. */
export interface AnalyticsClock {
  readonly nowMs: number;
  readonly createdAtMs: number;
}

/** The kinds of events that an event type counts. */
export function kindsOf(event: AnalyticsEvent): readonly [EventKind, ...EventKind[]] {
  return event === 'composite' ? EVENT_KINDS : [event];
}

/** @throws ApiError 400 or 422, naming the parameter */
export function parseAnalytics(query: AnalyticsQuery, { nowMs, createdAtMs }: AnalyticsClock): ParsedAnalytics {
  const event = query.event ?? 'clicks';
  const groupBy = query.groupBy ?? 'count';
  const grouping = groupBy === 'trigger' ? 'triggers' : groupBy;
  const filters = parseFilters({ ...query, event: kindsOf(event)[0] }, nowMs);
  const timeline = grouping === 'timeseries' ? timelineOf(filters.range, createdAtMs) : undefined;
  return { event, grouping, filters, timeline };
}
