import { historyPlace } from './history-keys.js';
import { KEEPER_STARTS_KEY, START_COUNTS_KEY } from './keepers.js';

/** Collects the histories that a script needs, and numbers them from 1. */
export interface HistoryArguments {
  /** The arguments of a claim: 0 if it has no history, else the number of its history, `more`, and its positions. */
  argumentsOf(claimName: string, ...more: readonly number[]): number[];
  /** How many histories the claims so far have. */
  count(): number;
  /** The keys of the histories and what decides whether to trust them; none without histories. */
  keys(): string[];
}

export function createHistoryArguments(): HistoryArguments {
  const numbers = new Map<string, number>();
  return {
    argumentsOf(claimName, ...more) {
      const place = historyPlace(claimName);
      if (place === undefined) return [0];
      const number = numbers.get(place.key) ?? numbers.size + 1;
      numbers.set(place.key, number);
      return [number, ...more, ...place.positions];
    },
    count: () => numbers.size,
    keys: () => (numbers.size === 0 ? [] : [...numbers.keys(), START_COUNTS_KEY, KEEPER_STARTS_KEY]),
  };
}
