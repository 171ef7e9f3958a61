import type { Unit } from './amounts.js';
import type { PlotAnswer } from './ops-answer.js';

const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** power));
const BINARY = Array.from({ length: 44 }, (_, power) => 2 ** power);
const DURATIONS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400].map((s) => s * 1000),
];

/** Distances between two ticks that read well in a unit, ascending. */
export function tickSteps(unit: Unit): number[] {
  const steps = unit === 'bytes' ? BINARY : unit === 'milliseconds' ? DURATIONS : WHOLE;
  return steps.toSorted((a, b) => a - b);
}

/** Top of a scale that starts at zero: a little air above the largest value; an empty or flat plot has a scale, too. */
export function scaleTop(largest: number | null): number {
  return largest === null || largest <= 0 ? 1 : largest * 1.12;
}

/** Distances between two ticks of a time axis, in seconds. */
export const TIME_STEPS: readonly number[] = [
  60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
];

/** From and to, in seconds since 1970. */
export type TimeSpan = readonly [from: number, to: number];

const SPAN_SECONDS_MIN = 300;
/** Of the whole range: fewer points than that are no plot. */
const SPAN_SHARE_MIN = 1 / 12;

/** Index of the first moment of which anything is known; filled-in noughts count as nothing. */
function firstKnown({ series }: PlotAnswer): number {
  const firsts = series.map(({ values }) => values.findIndex((value) => value !== null && value !== 0));
  const found = firsts.filter((index) => index >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

/**
 * What the time axis of all plots shows: the whole range, or of an installation that is younger the time since it has been
 * there. Undefined when nothing is known at all.
 */
export function visibleSpan(plots: readonly PlotAnswer[]): TimeSpan | undefined {
  const starts = plots.flatMap((plot) => plot.times[firstKnown(plot)] ?? []);
  if (starts.length === 0) return undefined;
  const from = Math.min(...plots.flatMap(({ times }) => times[0] ?? []));
  const to = Math.max(...plots.flatMap(({ times }) => times.at(-1) ?? []));
  const spanMin = Math.max(SPAN_SECONDS_MIN, (to - from) * SPAN_SHARE_MIN);
  const known = to - Math.min(...starts);
  return [Math.max(from, to - Math.max(spanMin, known * 1.04)), to];
}
