import type { Unit } from './amounts.js';

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
