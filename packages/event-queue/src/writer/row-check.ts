import { eventIdTime } from '@waymark/contract';
import type { RowKey } from '@waymark/event-format';

/** Limits on the time in a row's id, before and after the reference time. A row outside them is forged, or arrives far too late. */
const ROW_AGE_MS_MAX = 30 * 24 * 3_600_000;
const ROW_AHEAD_MS_MAX = 10 * 60_000;

/**
 * Why a row must not be sent to ClickHouse; undefined for a valid row.
 *
 * @param at reference time of the limits, epoch milliseconds
 */
export function rowFault(key: RowKey | undefined, at: number): string | undefined {
  if (key === undefined) return 'the row does not begin with workspace, time and id';
  const time = eventIdTime(key.eventId);
  if (time === undefined) return 'the id is not an event id';
  if (time !== key.timestampMs) return 'the time differs from the time in the id';
  if (time > at + ROW_AHEAD_MS_MAX) return 'the id is more than ten minutes in the future';
  if (time < at - ROW_AGE_MS_MAX) return 'the id is older than thirty days';
  return undefined;
}
