/**
 * Formats a time as a query parameter of type `DateTime64(3, 'UTC')`: `2026-03-04 12:30:00.000`. For this type ClickHouse accepts neither
 * numbers nor, inside arrays, texts with a trailing `Z`.
 *
 * @param timeMs epoch milliseconds
 */
export function dateTimeText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, -1).replace('T', ' ');
}
