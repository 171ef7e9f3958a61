/** Units of plotted numbers. */
export const UNITS = ['count', 'per-minute', 'milliseconds', 'bytes'] as const;
export type Unit = (typeof UNITS)[number];

/** Rounds to about three significant digits, as precise as a plot. */
function rounded(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

/** Divides by the largest step that is not above `value` (the first for smaller values) and appends its suffix. */
function scaled(value: number, steps: readonly (readonly [size: number, suffix: string])[]): string {
  const step = steps.findLast(([size]) => Math.abs(value) >= size) ?? steps[0];
  return step === undefined ? rounded(value) : `${rounded(value / step[0])}${step[1]}`;
}

const COUNTS = [
  [1e3, 'k'],
  [1e6, 'M'],
  [1e9, 'G'],
] as const;
const DURATIONS = [
  [1, ' ms'],
  [1000, ' s'],
  [60_000, ' min'],
  [3_600_000, ' h'],
  [86_400_000, ' d'],
] as const;
const SIZES = [
  [1, ' B'],
  [1024, ' KiB'],
  [1024 ** 2, ' MiB'],
  [1024 ** 3, ' GiB'],
  [1024 ** 4, ' TiB'],
] as const;

/** A count without a suffix up to 999. */
function countText(value: number): string {
  return Math.abs(value) < 1e3 ? rounded(value) : scaled(value, COUNTS);
}

/** Formats a number with its unit: `1.2 s`, `512 MiB`, `40/min`, `12.5k`. */
export function amountText(value: number, unit: Unit): string {
  switch (unit) {
    case 'count':
      return countText(value);
    case 'per-minute':
      return `${countText(value)}/min`;
    case 'milliseconds':
      return scaled(value, DURATIONS);
    case 'bytes':
      return scaled(value, SIZES);
  }
}
