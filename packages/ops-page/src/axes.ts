import type { Unit } from './amounts.js';
import type { PlotAnswer } from './ops-answer.js';

const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** power));
const BINARY = Array.from({ length: 44 }, (_, power) => 2 ** power);
const DURATIONS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400].map((s) => s * 1000),
];

/** Round distances between two ticks of a value axis, ascending. */
export function tickSteps(unit: Unit): number[] {
  const steps = unit === 'bytes' ? BINARY : unit === 'milliseconds' ? DURATIONS : WHOLE;
  return steps.toSorted((a, b) => a - b);
}

/** Upper end of a scale that starts at zero, 12 % above the largest value; 1 if there is no value above zero. */
export function scaleTop(largest: number | null): number {
  return largest === null || largest <= 0 ? 1 : largest * 1.12;
}

/** Round distances between two ticks of a time axis, in seconds. */
export const TIME_STEPS: readonly number[] = [
  60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
];

/** Start and end, in seconds since 1970. */
export type TimeSpan = readonly [from: number, to: number];

const SPAN_SECONDS_MIN = 300;
/** Shortest visible span as a share of the whole range: with fewer points a plot is not readable. */
const SPAN_SHARE_MIN = 1 / 12;

/** Index of the first time at which any series has a value; -1 if none has. Zeros do not count, because they fill gaps. */
function firstKnown({ series }: PlotAnswer): number {
  const firsts = series.map(({ values }) => values.findIndex((value) => value !== null && value !== 0));
  const found = firsts.filter((index) => index >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

/**
 * The time that all plots show: the whole range or, if the first value of any plot is later, a little more than the time since then.
 * Undefined if there are no values.
 */
export function visibleSpan(plots: readonly PlotAnswer[]): TimeSpan | undefined {
  const firstTimes = plots.flatMap((plot) => plot.times[firstKnown(plot)] ?? []);
  if (firstTimes.length === 0) return undefined;
  const from = Math.min(...plots.flatMap(({ times }) => times[0] ?? []));
  const to = Math.max(...plots.flatMap(({ times }) => times.at(-1) ?? []));
  const spanMin = Math.max(SPAN_SECONDS_MIN, (to - from) * SPAN_SHARE_MIN);
  const known = to - Math.min(...firstTimes);
  return [Math.max(from, to - Math.max(spanMin, known * 1.04)), to];
}
