import { inject } from 'vitest';

/**
 * How many rounds a test makes whose rounds differ by chance: `long` in `npm run faults`, `short` in `npm run verify`. The rounds of the runs
 * of a day together cover as much as one long run. `scripts/faults.sh` finds the files that call this.
 */
export function rounds(long: number, short: number): number {
  return inject('faultLength') === 'long' ? long : short;
}
