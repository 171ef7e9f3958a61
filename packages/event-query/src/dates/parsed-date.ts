import type { Days } from './calendar.js';
import type { Zone } from './zone.js';

/** A date from a request: whole days, an exact instant, or the time between two instants. */
export type ParsedDate =
  | (Days & {
      readonly type: 'days';
      /** For a relative day (`in 3 days`): the current local time of day, on that day. */
      readonly atMs?: number | undefined;
    })
  | { readonly type: 'instant'; readonly ms: number }
  | { readonly type: 'span'; readonly fromMs: number; readonly toMs: number };

/** What words such as `today` and `friday` refer to: the current time and the time zone. */
export interface DateContext {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly zone: Zone;
  /** How to resolve a recurring date such as `friday` or `5 jan`: to the latest one that has begun, or to the next one. */
  readonly nearest: 'past' | 'future';
}

/** First instant of a date. */
export function firstInstant(date: ParsedDate, zone: Zone): number {
  if (date.type === 'days') return zone.dayStart(date.firstMs);
  return date.type === 'span' ? date.fromMs : date.ms;
}

/** Last instant of a date. */
export function lastInstant(date: ParsedDate, zone: Zone): number {
  if (date.type === 'days') return zone.dayEnd(date.lastMs);
  return date.type === 'span' ? date.toMs : date.ms;
}
