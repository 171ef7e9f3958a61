import { median } from '../lib/statistics.js';
import type { Ask } from './ask.js';
import type { Family } from './families/event-families.js';

export const ROUNDS = 20;
/** A run that takes longer than this is repeated less often. */
const SLOW_MS = 3000;
const SLOW_ROUNDS = 5;

/** Median milliseconds of each system, by name, and the number of rows that each returned. */
export interface Compared {
  readonly family: Family;
  readonly ms: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

/** Runs the same query on every system alternately, several times; the first round is for warming up. */
export async function compare(family: Family, systems: Readonly<Record<string, Ask>>): Promise<Compared> {
  const times: Record<string, number[]> = {};
  const rows: Record<string, number> = {};
  let rounds = ROUNDS;
  for (let round = 0; round <= rounds; round++) {
    for (const [name, ask] of Object.entries(systems)) {
      const start = performance.now();
      rows[name] = await ask(family);
      const took = performance.now() - start;
      if (took > SLOW_MS) rounds = SLOW_ROUNDS;
      if (round > 0) times[name] = [...(times[name] ?? []), took];
    }
  }
  return { family, rows, ms: Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)])) };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
