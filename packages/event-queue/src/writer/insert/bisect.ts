import type { Inserted } from '../write-report.js';
import { isBadData } from './bad-data.js';

export interface Bisection {
  /** Inserts the rows from one position to another. Returns the number of attempts. */
  readonly insert: (from: number, to: number) => Promise<number>;
  /** Parks a row that was refused on its own. */
  readonly park: (position: number, error: string) => Promise<void>;
}

/** The result of a bisection, with the number of parts that it tried to insert. */
export interface Bisected extends Inserted {
  readonly parts: number;
}

/** Inserts the rows from one position to another, by bisection if ClickHouse refuses them. */
export async function bisect(bisection: Bisection, from: number, to: number): Promise<Bisected> {
  if (from >= to) return { attempts: 0, isSplit: false, parked: 0, parts: 0 };
  try {
    return { attempts: await bisection.insert(from, to), isSplit: false, parked: 0, parts: 1 };
  } catch (err) {
    if (!isBadData(err)) throw err;
    if (to - from > 1) {
      const halves = await bisectHalves(bisection, from, to);
      return { ...halves, attempts: 1 + halves.attempts, parts: 1 + halves.parts };
    }
    await bisection.park(from, err instanceof Error ? err.message : String(err));
    return { attempts: 1, isSplit: false, parked: 1, parts: 1 };
  }
}

/** The same for rows that ClickHouse has refused together. */
export async function bisectHalves(bisection: Bisection, from: number, to: number): Promise<Bisected> {
  const middle = Math.floor((from + to) / 2);
  const first = await bisect(bisection, from, middle);
  const second = await bisect(bisection, middle, to);
  return {
    attempts: first.attempts + second.attempts,
    isSplit: true,
    parked: first.parked + second.parked,
    parts: first.parts + second.parts,
  };
}
