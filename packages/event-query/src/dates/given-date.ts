import type { Days } from './calendar.js';
import type { Zone } from './zone.js';

/** A date a caller gave: whole days, an exact instant, or the time between two instants. */
export type GivenDate =
  | (Days & {
      readonly type: 'days';
      /** For a day found by counting from the present: the local time of that day that it is now. */
      readonly atMs?: number | undefined;
    })
  | { readonly type: 'instant'; readonly ms: number }
  | { readonly type: 'span'; readonly fromMs: number; readonly toMs: number };

/** What words such as `today` and `friday` are relative to. */
export interface Present {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly zone: Zone;
  /** Which one is meant by a date that names none, such as `friday` or `5 jan`: the latest that has begun, or the next to come. */
  readonly nearest: 'past' | 'future';
}

/** First instant of what was given. */
export function firstInstant(date: GivenDate, zone: Zone): number {
  if (date.type === 'days') return zone.dayStart(date.firstMs);
  return date.type === 'span' ? date.fromMs : date.ms;
}

/** Last instant of what was given. */
export function lastInstant(date: GivenDate, zone: Zone): number {
  if (date.type === 'days') return zone.dayEnd(date.lastMs);
  return date.type === 'span' ? date.toMs : date.ms;
}
