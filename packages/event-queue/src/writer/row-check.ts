import { eventIdTime } from '@waymark/contract';
import type { RowKey } from '@waymark/event-format';

/** A row's id may lie that far from the clock; outside, it is forged or much too late. */
export const ROW_AGE_MS_MAX = 30 * 24 * 3_600_000;
export const ROW_AHEAD_MS_MAX = 10 * 60_000;

/** Why a row must not come near ClickHouse, or undefined when it may. `at`: the time it is judged by, epoch milliseconds. */
export function rowFault(key: RowKey | undefined, at: number): string | undefined {
  if (key === undefined) return 'the row does not begin with workspace, time and id';
  const time = eventIdTime(key.eventId);
  if (time === undefined) return 'the id is no event id';
  if (time !== key.timestampMs) return 'the time is not that of the id';
  if (time > at + ROW_AHEAD_MS_MAX) return 'the id lies more than ten minutes ahead';
  if (time < at - ROW_AGE_MS_MAX) return 'the id is older than thirty days';
  return undefined;
}
