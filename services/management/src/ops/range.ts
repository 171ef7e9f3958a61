/** A time range up to now that the page can show. */
export interface OpsRange {
  readonly id: '1h' | '6h' | '24h' | '7d';
  readonly label: string;
  readonly seconds: number;
  /** Seconds between two points of a plot. */
  readonly step: number;
}

/** The ranges of the page; the first one is the default. */
export const OPS_RANGES: readonly [OpsRange, ...OpsRange[]] = [
  { id: '1h', label: '1 hour', seconds: 3600, step: 15 },
  { id: '6h', label: '6 hours', seconds: 21_600, step: 120 },
  { id: '24h', label: '24 hours', seconds: 86_400, step: 600 },
  { id: '7d', label: '7 days', seconds: 604_800, step: 3600 },
];

/**
 * More recent points are left out, because busy services report their numbers with a delay of a few seconds. Idle services need up to half
 * a minute.
 */
const INCOMPLETE_SECONDS = 6;

/** The points of a plot: starts of complete steps, in Unix seconds, ascending. */
export function pointsOf({ seconds, step }: Pick<OpsRange, 'seconds' | 'step'>, nowMs: number): number[] {
  const end = Math.floor((nowMs / 1000 - INCOMPLETE_SECONDS) / step) * step;
  const count = Math.floor(seconds / step);
  return Array.from({ length: count }, (_, index) => end - (count - index) * step);
}
