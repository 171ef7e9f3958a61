import { withTimeout } from '@waymark/cache';

/** The outcome of `work`, unless it takes longer: then an error. The work itself goes on. */
export function within<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
  return withTimeout(work, milliseconds, () => {
    throw new Error(`${what}: no answer in ${milliseconds} ms`);
  });
}
