/** A date a caller gave: a calendar day without a time, or an exact instant. */
export type GivenDate =
  | {
      readonly type: 'day';
      /** Midnight of the day as it would be in UTC. */
      readonly midnightMs: number;
    }
  | { readonly type: 'instant'; readonly ms: number };

/** Midnight of a calendar day in UTC, or undefined when there is no such day. */
export function midnightOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}
