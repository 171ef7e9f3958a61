/** Steps after which the last value of a plot is no longer the present one. */
const STEPS_MAX = 3;
/** Idle processes write their measurements every thirty seconds. */
const SECONDS_MIN = 60;

/**
 * The present value of a series: the last known one unless it is too old.
 *
 * @param times of the values, in seconds since 1970
 */
export function presentValue(times: readonly number[], values: readonly (number | null)[]): number | null {
  const index = values.findLastIndex((value) => value !== null);
  const [last = 0, before = last] = [times.at(-1), times.at(-2)];
  const age = last - (times[index] ?? 0);
  return age > Math.max(STEPS_MAX * (last - before), SECONDS_MIN) ? null : (values[index] ?? null);
}
